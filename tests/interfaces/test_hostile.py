"""Hostile requests to a server as a user starts it: each is answered, with what is true of it, and nothing breaks."""

import json
import socket
import string

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import playground
from playground.recipe import RecipeError

API = "/gradio_api"
FORM = "multipart/form-data; boundary=x"
JSON = {"content-type": "application/json"}
TEXTS = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</script><svg onload=alert(1)>", "${alert(1)}", "{}",
    "{{7*7}}", "{0.__class__}", "%s%n%x", "`id`", "$(id)", "'; DROP TABLE runs; --", "../../etc/passwd",
    "\u202egnp.exe", "\u200b\u200d\ufeff", "👩‍👩‍👧 👍🏽 🇫🇷", "Z\u0351\u036b\u0343\u036a", "\x00\x01\x1b[31m",
    "C:\\users\\x", "<eos> <pad> [[",
]  # fmt: skip
FILE = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
FETCHED = FILE | {"path": "http://169.254.169.254/latest", "url": "http://169.254.169.254/latest"}
NO_JSON, NO_OBJECT = "its body is not JSON in UTF-8", "its body is not a JSON object"
HALF, NO_SESSION = "a text has half a character (a lone surrogate)", "session_hash is not the name of a session"
SECRETS = ("Traceback", 'File "', "site-packages", "root:x:")


@pytest.fixture(scope="module")
def server(serve):
    return serve(PLAYGROUND_TIME_LIMIT="5")


@pytest.fixture(scope="module")
def events(client):
    """Every event of the page, its own ones too, by name."""
    return {event["api_name"]: event for event in client.get("/config").json()["dependencies"]}


def checked(answer: httpx.Response, *statuses: int) -> httpx.Response:
    """An answer that has one of the statuses, or at least is no failure of the server, and tells nothing of it."""
    assert answer.status_code in statuses if statuses else answer.status_code < 500, answer.text[:200]
    assert not any(secret in answer.text for secret in SECRETS)
    return answer


def refused(answer: httpx.Response, status: int, sentence: str) -> None:
    assert checked(answer, status).json() == {"detail": sentence}


def unreadable(answer: httpx.Response, why: str) -> None:
    refused(answer, 400, f"The request cannot be read: {why}.")


def post(client, route: str, body, **headers) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post(f"{API}/{route}", content=content, headers=JSON | headers)


def outcome(client, address: str) -> str:
    """The last event of a stream, which has to end."""
    text = checked(client.get(address), 200).text
    return text.strip().rsplit("\n\n", 1)[-1]


def raw(server, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(request)
        return connection.recv(4000)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", NO_JSON), (b"{", NO_JSON), (b"NaN", NO_JSON), (b'{"data": [NaN]}', NO_JSON),
        (b'{"data": [-Infinity]}', NO_JSON), (b'{"data": ["\xff"]}', NO_JSON), (b"[" * 100_000, NO_JSON),
        ('{"data": []}'.encode("utf-16"), NO_JSON), (b'{"data": [' + b"9" * 5000 + b"]}", NO_JSON),
        (b"[]", NO_OBJECT), (b"null", NO_OBJECT), (b'"x"', NO_OBJECT), (b"1", NO_OBJECT),
        (b'{"data": ' + b"[" * 500 + b"]" * 500 + b"}", "it has more than 32 brackets in brackets"),
        (b'{"data": ["\\ud800"]}', HALF), (b'{"\\udfff": 1}', HALF),
        (b'{"data": [1e999]}', "a number is too large"), (b'{"data": [' + b"9" * 400 + b"]}", "a number is too large"),
        (b'{"data": [], "session_hash": ""}', NO_SESSION), (b'{"data": [], "session_hash": "a\\u0000b"}', NO_SESSION),
        (b'{"data": [], "session_hash": "' + b"x" * 1000 + b'"}', NO_SESSION),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "route", ["queue/join", "call/generate", "call/v2/generate", "run/share_link", "cancel", "reset"]
)
def test_a_body_that_is_none_is_refused(client, route, body, why):
    unreadable(post(client, route, body), why)


def test_a_session_without_a_name_does_not_end_the_queue(client):
    for session in ("", "\x00"):  # Gradio's queue would fail on the first for good
        for _ in range(3):
            checked(post(client, "queue/join", {"data": [], "fn_index": 0, "session_hash": session}), 400)
    assert works(client)


@pytest.mark.parametrize("index", [-1, 9999, 2**62, 1.5, "1", [1], True, {}])
def test_an_event_that_is_none_is_refused(client, index):
    for route in ("queue/join", "run/fit"):
        answer = post(client, route, {"data": [], "fn_index": index, "session_hash": "s"})
        if isinstance(index, int) and index is not True:
            refused(answer, 404, "There is no endpoint of this name.")
        else:
            unreadable(answer, "fn_index is not a whole number")


@pytest.mark.parametrize("route", ["run", "api", "call", "call/v2"])
@pytest.mark.parametrize("name", ["nothing", "js_fn", "unnamed_1", "__init__", "%3Cscript%3E", "..%2fgenerate"])
def test_a_name_that_is_none_is_refused(client, route, name):
    checked(post(client, f"{route}/{name}", {"data": []}), 404, 405)


def test_an_unknown_field_is_named(client):
    unreadable(post(client, "call/v2/generate", {"stepz": 3}), "'stepz' is no field of this endpoint")
    unreadable(
        post(client, "call/v2/generate", {"<script>" * 9: 3}), f"{('<script>' * 9)[:40]!r} is no field of this endpoint"
    )


def test_what_is_too_large_is_refused(client):
    said = "The request is too large: up to 10 MB are allowed."
    refused(post(client, "call/generate", {"data": ["x" * 10_000_001]}), 413, said)
    refused(client.post(f"{API}/run/fit", content=(b"x" * 100_000 for _ in range(110)), headers=JSON), 413, said)
    part = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n%b\r\n'
    form = {"content-type": FORM}
    checked(client.post(f"{API}/upload", content=part % (b"x" * 1_100_000) + b"--x--\r\n", headers=form), 413)
    many = part % (b"x" * 900_000) * 12 + b"--x--\r\n"
    refused(client.post(f"{API}/upload", content=many, headers=form), 413, said)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/xml", "multipart/form-data; boundary=x", "", "\xff", "a/b" * 999]
)
def test_another_content_type_is_refused(client, kind):
    for route in ("run/fit", "call/generate", "queue/join", "cancel"):
        answer = client.post(
            f"{API}/{route}", content=b'{"data": []}', headers={"content-type": kind.encode("latin-1")}
        )
        refused(answer, 415, "The request cannot be read: its content type has to be application/json.")


@pytest.mark.parametrize(
    "path",
    [
        "proxy=http://127.0.0.1:1/", "proxy=http://[::1", "proxy=file:///etc/passwd", "file=http://169.254.169.254/x",
        "file=https://localhost:22/", "FILE=HTTP://127.0.0.1/", "file/http://127.0.0.1/", "component_server",
        "process_recording", "custom_component/x/client/y/z", "deep_link?session_hash=x", "stream/x",
        "stream/a/b/1/playlist.m3u8", "vibe-edit/",
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_the_page_has_no_use_for_is_closed(client, method, path):
    refused(client.request(method, f"{API}/{path}", json={"data": 1}), 404, "There is nothing at this address.")


@pytest.mark.parametrize(
    "path",
    [
        *(
            f"{API}/file{name}" for name in (
                "=/etc/passwd", "=../../etc/passwd", "=%2e%2e%2f%2e%2e%2fetc%2fpasswd", "=/proc/self/environ",
                "=app.py", "=/dev/zero", "=", "=%00", "=%FF%FE", "=C:%5Cwindows", "/etc/passwd",
            )
        ),
        "/static/%2e%2e/%2e%2e/etc/passwd", "/assets/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/svelte/..%2f..%2fx",
        "/assets/%00", f"/assets/{'a' * 300}", f"/{'x' * 5000}", "/monitoring/x", "/monitoring/summary",
        f"{API}/custom_component/%2e%2e/client/%2e%2e/passwd",
    ],
)  # fmt: skip
def test_no_path_leads_out(client, path):
    answer = checked(client.get(path))
    assert 400 <= answer.status_code < 500 and "def " not in answer.text


@pytest.mark.parametrize("texts", [TEXTS[:9], TEXTS[9:]], ids=["markup", "characters"])
def test_a_share_link_is_text(client, texts):
    for name in ("prompt", "deep_link", "__theme"):
        query = [(name, texts[0]), *((text, text) for text in texts), *((name, text) for text in texts)]
        page = checked(client.get("/", params=query), 200).text
        assert "Diffusion LM Playground" in page and not any(text in page for text in texts if "<" in text[:1])
    for text in texts:
        answer = post(client, f"run/paired?{httpx.QueryParams(prompt=text)}", {"data": [None]})
        assert checked(answer, 200).json()["data"][0][0][0] == text


def test_an_address_that_is_too_long_is_refused(client):
    refused(
        client.get("/", params={"prompt": "x" * 61_000}), 414, "The request cannot be read: its address is too long."
    )


@pytest.mark.parametrize("name", ["host", "x-forwarded-host"])
@pytest.mark.parametrize(
    "value", ["<script>alert(1)</script>", "a b", "[::1", "é", "'\"", "javascript:alert(1)", "a/b", "a:b"]
)
def test_a_host_that_is_none_is_refused(client, name, value):
    for path in ("/", "/config", "/logout"):
        unreadable(client.get(path, headers={name: value.encode()}), f"the header {name} is not the name of a host")


@pytest.mark.parametrize("value", ["</script><script>alert(1)</script>", "javascript", "https, file"])
def test_a_scheme_that_is_none_is_refused(client, value):
    for path in ("/", f"{API}/mcp/", f"{API}/info"):
        why = "the header x-forwarded-proto is neither http nor https"
        unreadable(client.get(path, headers={"x-forwarded-proto": value}), why)


def test_nobody_is_told_the_address_at_which_another_asked(client):
    assert "evil.example" in checked(client.get(f"{API}/info", headers={"host": "evil.example"}), 200).text
    assert "evil.example" not in checked(client.get(f"{API}/info"), 200).text


@pytest.mark.parametrize("page", ["x", "../x", "<script>"])
def test_a_page_that_is_none_is_not_found(client, page):
    for path in ("/", "/config", f"{API}/info"):
        refused(client.get(path, params={"page": page}), 404, "There is no page of this name.")


@pytest.mark.parametrize("name", ["", "x" * 65, "a b", "<script>"])
def test_an_upload_s_progress_is_asked_for_by_its_name(client, name):
    for path in ("upload_progress", "upload_progress?upload_id=" + name):
        unreadable(client.get(f"{API}/{path}"), "upload_id is not the name of an upload")


@pytest.mark.parametrize("value", ["0-0,2-2", "0-0", "--1", "0-0,0-0," * 900, "99999-1"])
def test_a_file_is_sent_whole_and_without_the_headers_of_the_request(client, value):
    body = '--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nTom\r\n--x--\r\n'
    (path,) = checked(client.post(f"{API}/upload", content=body, headers={"content-type": FORM}), 200).json()
    answer = client.get(f"{API}/file={path}", headers={"range": f"bytes={value}", "cookie": "a=secret"})
    assert checked(answer, 200).text == "Tom" and "secret" not in str(answer.headers)


@pytest.mark.parametrize("value", [b"0", b"[]", b"{}"])
@pytest.mark.parametrize("route", ["reset", "run/share_link", "queue/join", "nothing", "call/v2/generate"])
def test_a_body_of_too_many_values_is_refused_before_it_is_taken_apart(client, route, value):
    body = b'{"data":[' + b",".join([value] * 100_000) + b"]}"
    refused(post(client, route, body), 413, "The request has too many values: up to 100,000 are allowed.")


def test_a_field_of_another_kind_is_named_and_not_sent_back(client):
    answer = checked(post(client, "reset", {"data": ["secret"]}), 422)
    assert answer.json()["detail"].endswith("See event_id.") and "secret" not in answer.text
    checked(post(client, "reset", {"event_id": ["secret"]}), 422)


def test_the_page_tells_no_addresses_in_memory(client):
    assert " object at 0x" not in client.get("/config").text
    checked(client.get("/openapi.json"), 404)


@pytest.mark.parametrize(
    "headers",
    [
        {"x-gradio-server": "http://[::1"}, {"x-gradio-server": "http://evil.example"}, {"cookie": "access-token=\x80"},
        {"origin": "null"}, {"origin": "http://[::1"}, {"referer": "http://[::1"}, {"referer": "javascript:alert(1)"},
        {"range": "bytes=99999-1"}, {"if-none-match": "\xff"}, {"authorization": "Bearer \xff"}, {"x-api-key": "\xff"},
        {"accept-encoding": "br;q=x"}, {"accept-language": "x" * 5000}, {"user-agent": "${jndi:ldap://x}"},
        {"x-forwarded-for": "<script>, 1"}, {"forwarded": 'for="<script>"'},
    ],
)  # fmt: skip
def test_other_headers_change_nothing(client, headers):
    sent = {name: value.encode("latin-1") for name, value in headers.items()}
    for path in ("/logout", "/theme.css", f"{API}/info"):
        answer = checked(client.get(path, headers=sent), 200, 302)
        assert "evil.example" not in answer.text
    checked(post(client, "run/share_link", {"data": ["seed=1"]}, **sent), 200)


@pytest.mark.parametrize(
    "request_",
    [
        b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET /?a=\x01 HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET /?a=\xff HTTP/1.1\r\nhost: x\r\n\r\n", b"GET / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n", b"GET http://evil/ HTTP/1.1\r\nhost: x\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n", b"CONNECT a:1 HTTP/1.1\r\nhost: x\r\n\r\n",
        b"POST /gradio_api/run/fit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        b"transfer-encoding: chunked\r\n\r\nZZ\r\n",
        b"GET /x HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-version: 13\r\n\r\n",
    ],
)  # fmt: skip
def test_what_is_not_http_is_refused(server, request_):
    assert raw(server, request_).split(b" ")[1] in (b"400", b"404")


@pytest.mark.parametrize(
    "path",
    [
        "/", "/health", "/config", "/theme.css", "/login", f"{API}/run/fit", f"{API}/queue/join",
        f"{API}/call/generate", f"{API}/upload", f"{API}/heartbeat/x", f"{API}/queue/status",
    ],
)  # fmt: skip
def test_other_methods_are_refused(client, path):
    for method in ("PUT", "DELETE", "PATCH", "TRACE", "FOO"):
        checked(client.request(method, path), 405)


@pytest.mark.parametrize(
    "name", ["../../etc/x", "/etc/passwd", "con", "a" * 300, *TEXTS[:1], "\u202egnp.exe", "👩‍👩‍👧.txt", ".."]
)
def test_an_upload_stays_in_its_folder_and_is_never_a_page(client, name):
    body = f'--x\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n<script>\r\n--x--\r\n'
    form = {"content-type": FORM}
    answer = checked(client.post(f"{API}/upload", content=body.encode(), headers=form), 200, 400)
    assert (answer.status_code == 400) == (name == "..")
    if answer.status_code == 200:
        (path,) = answer.json()
        assert ".." not in path and "/gradio/" in path
        got = checked(client.get(f"{API}/file={path}"), 200)
        assert got.text == "<script>" and got.headers["x-content-type-options"] == "nosniff"
        assert "attachment" in got.headers["content-disposition"] or got.headers["content-type"].startswith(
            "text/plain"
        )


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b"{}"), ("multipart/form-data", b"x"), (FORM, b"x"),
        (FORM, b'--x\r\nContent-Disposition: form-data; name="files"\r\n\r\nhi\r\n--x--\r\n'),
        (FORM, b"--x\r\nContent-Disposition: form-data\r\n\r\nhi\r\n--x--\r\n"),
    ],
)  # fmt: skip
def test_an_upload_of_no_files_is_refused(client, kind, body):
    checked(client.post(f"{API}/upload", content=body, headers={"content-type": kind}), 400)


@pytest.mark.parametrize("text", [*TEXTS, "a" * 100_000], ids=lambda text: ascii(text)[:30])
def test_a_prompt_is_text(client, text):
    fields = {"prompt": text, "steps": 1, "length": 32, "seed": 1}
    event = checked(post(client, "call/v2/generate", fields), 200).json()["event_id"]
    said = outcome(client, f"{API}/call/generate/{event}")
    kind, data = (line.split(": ", 1)[1] for line in said.split("\n"))
    try:
        text = playground.generate(**fields).text
    except RecipeError as error:  # as one that does not fit the row
        assert kind == "error" and json.loads(data)["error"] == str(error)
    else:
        assert kind == "complete" and json.loads(data)[0]["text"] == text


@pytest.mark.parametrize(
    "value",
    [None, True, -1, 1.5, 10**18, "", TEXTS[0], ["a"], [[1]], {"a": 1}, {"__type__": "update"}, FILE, FETCHED],
    ids=lambda value: ascii(value)[:30],
)  # fmt: skip
def test_the_page_s_own_events_take_anything(client, events, value):
    """Events that the page calls without its queue: those of knobs, links, pins and examples."""
    called = 0
    for name, event in events.items():
        if (
            event["backend_fn"]
            and not event["queue"]
            and name.rstrip("_0123456789") not in ("estimate", "suggest_both")
        ):
            for data in ([value] * len(event["inputs"]), []):
                body = {"data": data, "fn_index": event["id"], "session_hash": "any", "event_data": value}
                answer = checked(post(client, f"run/{name}", body), 200, 400)
                assert answer.status_code == 200 or isinstance(answer.json()["error"], str)
                called += 1
    assert called > 40
    if value is FILE or value is FETCHED:
        answer = post(client, "run/keeping", {"data": [value, 1]})
        assert checked(answer, 400).json()["error"].startswith("The request cannot be read: ")


@pytest.mark.parametrize(
    "name", ["watch", "edit", "blend", "run_grid", "run_race", "opened", "generate", "compare", "race"]
)
@pytest.mark.parametrize("value", [True, TEXTS[0], {"a": [1]}, FILE, FETCHED], ids=lambda value: ascii(value)[:30])
def test_a_queued_event_says_what_is_wrong(client, events, name, value):
    for data in ([value] * len(events[name]["inputs"]), []):
        session = f"{name}-{len(data)}-{ascii(value)[:9]}"
        body = {"data": data, "fn_index": events[name]["id"], "session_hash": session, "event_data": value}
        checked(post(client, "queue/join", body), 200)
        text = checked(client.get(f"{API}/queue/data", params={"session_hash": session}), 200).text
        last = [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: ")][-2]
        assert last["msg"] == "process_completed"
        assert last["success"] or isinstance(
            last["output"]["error"], str
        )  # null: something failed that was not foreseen


@pytest.mark.parametrize(
    "address", ["queue/data?session_hash=nobody", "queue/data?session_hash=%00", "call/generate/nothing"]
)
def test_a_stream_about_nothing_ends(client, address):
    assert "404" in checked(client.get(f"{API}/{address}"), 200).text


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = ["generate", "infill", "interpolate", "compare", "race", "models"]


@settings(max_examples=50, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_bodies_made_from_the_published_description(client, data):
    """Some fields of an endpoint, each either as described or anything at all."""
    paths = description(client)["paths"]
    name = data.draw(st.sampled_from(NAMES))
    schema = paths[f"{API}/call/v2/{name}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    fields = data.draw(st.lists(st.sampled_from(sorted(schema["properties"]) or ["x"]), max_size=3, unique=True))
    body = {field: data.draw(VALUES | described(schema["properties"].get(field, {}))) for field in fields}
    small = {"generate": {"steps": 1, "length": 16}, "infill": {"steps": 1}, "interpolate": {"steps": 1, "points": 3}}
    body = small.get(name, {}) | body
    if name in ("compare", "race"):
        body |= {"length": data.draw(VALUES), "steps": "none"}  # never one that runs for long
    answer = checked(post(client, f"call/v2/{name}", json.dumps(body).encode("utf-8", "surrogatepass")), 200, 400)
    if answer.status_code == 400:
        assert answer.json()["detail"].startswith("The request cannot be read: ")
    else:
        kind, said = outcome(client, f"{API}/call/{name}/{answer.json()['event_id']}").split("\n")
        assert kind == "event: complete" or isinstance(json.loads(said[6:])["error"], str)


def description(client) -> dict:
    return checked(client.get(f"{API}/openapi.json"), 200).json()


def described(schema: dict):
    """Values of the type that a schema has."""
    text = st.text(string.printable + "é你🇫", max_size=30)
    of = {
        "number": st.integers(-2, 20) | st.floats(-2, 2),
        "boolean": st.booleans(),
        "object": st.just({}),
        "string": text,
    }
    return of.get(schema.get("type"), st.lists(text, max_size=3))


def works(client) -> bool:
    """Whether a run and a list still come, as they should be."""
    fields = {"prompt": "Once upon a time", "steps": 3, "length": 24, "seed": 7}
    for name, body in (("models", {}), ("generate", fields)):
        event = checked(post(client, f"call/v2/{name}", body), 200).json()["event_id"]
        said = json.loads(outcome(client, f"{API}/call/{name}/{event}").removeprefix("event: complete\ndata: "))[0]
        if name == "models":
            assert [model["family"] for model in said] == ["continuous", "masked", "uniform", "autoregressive"]
        else:
            assert said["text"] == playground.generate(**fields).text
    return True


def test_after_all_this_the_server_works_and_has_nothing_of_its_own_to_regret(client, server):
    assert works(client)
    assert checked(client.get("/health"), 200).json()["status"] == "ok"
    failed = [line for line in server.log("request failed") if not line["path"].startswith(f"{API}/upload")]
    assert failed == [] and "Traceback" not in server.written.read_text()
