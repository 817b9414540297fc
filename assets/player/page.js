"use strict";

// What a standalone page is made of. playground/interfaces/player.py fills in the same text: it takes all between the
// two backticks, so it must hold none of its own, and no substitution of JavaScript's.
const PAGE_TEMPLATE = `<!doctype html>
<html lang="{{language}}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{{title}}</title>
<style id="dlm-player-style">{{css}}</style>
</head>
<body class="dlm-page">
<main id="dlm-root"></main>
<script type="application/json" id="dlm-data">{{data}}</script>
<script id="dlm-player-source">{{js}}</script>
<script>{{start}}</script>
</body>
</html>
`;
