"""A call of the API as a few lines of a program, with its fields filled in: Python, a shell, JavaScript."""

import json
import shlex

from playground.recipe import format_pins

COMMANDS = {"stream": "generate"}  # endpoints whose command has another name
PRINTED = {  # what an answer is shown by, in Python and in JavaScript
    "generate": ('answer["text"]', "answer.text"),
    "infill": ('answer["text"]', "answer.text"),
    "interpolate": ('[point["text"] for point in answer["points"]]', "answer.points.map((point) => point.text)"),
    "compare": ('answer["said"]', "answer.said"),
    "race": ('[(lane["lane"], lane["text"]) for lane in answer["lanes"]]', "answer.lanes.map((lane) => lane.text)"),
    "batch": ('[result["text"] for result in answer["results"]]', "answer.results.map((result) => result.text)"),
    "stream": ('answer["text"]', "answer.text"),
}
KEY = "YOUR_KEY"
_WAITING = r"""const events = await heard.text();
if (!events.includes("event: complete")) throw new Error(events);
const [answer] = JSON.parse(events.trim().split("\n").pop().replace("data: ", ""));
console.log(SHOWN);"""
_LISTENING = r"""const reader = heard.body.pipeThrough(new TextDecoderStream()).getReader();
for (let rest = "", part; !(part = await reader.read()).done; ) {
  const events = (rest + part.value).split("\n\n");
  rest = events.pop();
  for (const event of events) {
    const [kind, data] = event.split("\ndata: ");
    if (kind.endsWith("error")) throw new Error(data);
    if (!kind.endsWith("heartbeat")) console.log(JSON.parse(data)[0].text);
  }
}"""


def python(server: str, name: str, fields: dict, needs_key: bool = False) -> str:
    """With gradio_client. `server` is the page's address, `name` an endpoint without its slash."""
    headers = f', headers={{"X-API-Key": "{KEY}"}}' if needs_key else ""
    given = "".join(f"    {field}={_literal(value)},\n" for field, value in fields.items())
    call = f'(\n{given}    api_name="/{name}",\n)'
    shown = PRINTED[name][0]
    lines = [f"answer = client.predict{call}", f"print({shown})"]
    if name == "stream":
        lines = [f"for answer in client.submit{call}:", f"    print({shown})"]
    return "\n".join(["from gradio_client import Client", "", f"client = Client({_literal(server)}{headers})", *lines])


def curl(server: str, name: str, fields: dict, needs_key: bool = False) -> str:
    """Two requests: one that begins, one that listens. The last line of the answer has the result."""
    key = f" -H {shlex.quote(f'X-API-Key: {KEY}')}" if needs_key else ""
    body = shlex.quote(json.dumps(fields, ensure_ascii=False))
    asked, heard = (shlex.quote(f"{server}gradio_api/call/{path}") for path in (f"v2/{name}", f"{name}/"))
    begin = f"curl -s {asked}{key} -H 'Content-Type: application/json' \\\n  -d {body}"
    return f"EVENT=$({begin} | cut -d'\"' -f4)\ncurl -sN {heard}$EVENT"


def javascript(server: str, name: str, fields: dict, needs_key: bool = False) -> str:
    """With fetch alone, for browsers and Node."""
    key = f', "X-API-Key": "{KEY}"' if needs_key else ""
    body = json.dumps(fields, ensure_ascii=False, indent=2).replace("\n", "\n  ").replace("</", "<\\/")
    return f"""const server = {json.dumps(server)};
const asked = await fetch(server + "gradio_api/call/v2/{name}", {{
  method: "POST",
  headers: {{ "Content-Type": "application/json"{key} }},
  body: JSON.stringify({body}),
}});
const {{ event_id }} = await asked.json();
const heard = await fetch(server + "gradio_api/call/{name}/" + event_id);
{_LISTENING if name == "stream" else _WAITING.replace("SHOWN", PRINTED[name][1])}"""


def command(name: str, fields: dict) -> str:
    """On this machine, without a server. The prompts of a batch are expected in prompts.txt."""
    fields = dict(fields) | dict(fields.get("sweep") or {})
    before = ["--input=prompts.txt", "--output=results"] if fields.pop("items", None) is not None else []
    fields.pop("sweep", None)
    flags = [shlex.quote(f"--{field.replace('_', '-')}={_flag(value)}") for field, value in fields.items()]
    return " \\\n  ".join([f"python -m playground {COMMANDS.get(name, name)}", *before, *flags])


def _literal(value) -> str:
    """A value as Python writes it, texts in double quotes."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_literal(key)}: {_literal(entry)}' for key, entry in value.items())}}}"
    return repr(value)


def _flag(value) -> str:
    if isinstance(value, dict):
        return format_pins(value)
    if isinstance(value, list | tuple):
        return ",".join(map(str, value)) + ("," if len(value) == 1 else "")
    return str(value)
