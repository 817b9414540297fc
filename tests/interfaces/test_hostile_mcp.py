"""Hostile requests to the MCP server: each is answered, and whoever leaves, frees the worker."""

import contextlib
import json
import socket
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

import playground

MCP = "/gradio_api/mcp"
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
SECRETS = ("Traceback", 'File "', "site-packages", "pydantic", "SECRET")
LONG = {"steps": 250, "length": 256}


@pytest.fixture(scope="module")
def server(serve):
    return serve(PLAYGROUND_CONCURRENCY="1")


def rpc(client, method: str = "tools/call", path: str = "/", **fields) -> httpx.Response:
    body = {"jsonrpc": "2.0", "id": 1, "method": method} | fields
    answer = client.post(MCP + path, content=json.dumps(body), headers=HEADERS)
    assert not any(secret in answer.text for secret in SECRETS)
    return answer


def said(answer: httpx.Response) -> dict:
    """The last message of an answer, which is a stream; those before it say how far a tool is."""
    assert answer.status_code == 200
    return json.loads([line[6:] for line in answer.text.splitlines() if line.startswith("data: ")][-1])


def tool(client, name: str, meta: dict | None = None, **arguments) -> dict:
    params = {"name": name, "arguments": arguments} | ({"_meta": meta} if meta else {})
    return said(rpc(client, params=params))["result"]


@pytest.mark.parametrize(
    "path",
    [
        "/%3C/script%3E%3Cscript%3Ealert(1)%3C/script%3E/gradio_api/mcp", "/x/gradio_api/mcp/", "/http/x",
        "/messages/x", "/schema/x", "x", "//", "/%2e%2e/mcp",
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
def test_there_is_nothing_beside_its_own_addresses(client, method, path):
    answer = client.request(method, MCP + path, json={})
    assert answer.status_code == 404 and "<script" not in answer.text


def test_a_browser_is_told_the_address(client):
    assert f"{MCP}/" in client.get(f"{MCP}/").text


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"jsonrpc": "1.0"}, 'its jsonrpc is not "2.0"'), ({"jsonrpc": None}, 'its jsonrpc is not "2.0"'),
        ({"id": None}, "its id is neither a whole number nor a text"), ({"id": [1]}, "its id is neither"),
        ({"id": True}, "its id is neither"), ({"id": 1.5}, "its id is neither"),
        ({"method": 1}, "its method is not the name of one"), ({"method": "a\nb"}, "its method is not"),
        ({"method": "x" * 65}, "its method is not"), ({"method": ""}, "its method is not"),
        ({"params": "SECRET"}, "its params are not an object"), ({"params": None}, "its params are not an object"),
        ({"params": {}}, "its params have no name of a tool"),
        ({"params": {"name": 'x\n{"event": "FORGED"}'}}, "its params have no name of a tool"),
        ({"params": {"name": "x" * 65}}, "its params have no name of a tool"),
        ({"params": {"name": "generate", "arguments": "SECRET"}}, "the arguments of its tool are not an object"),
    ],
)  # fmt: skip
def test_a_message_that_is_none_is_refused(client, fields, why):
    answer = rpc(client, **fields)
    assert answer.status_code == 400 and answer.json()["detail"].startswith(f"The request cannot be read: {why}")


def test_an_answer_of_a_client_is_no_call(client):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}})
    assert client.post(f"{MCP}/", content=body, headers=HEADERS).status_code == 202
    assert client.post(f"{MCP}/", content='{"jsonrpc": "2.0"}', headers=HEADERS).status_code == 400


@pytest.mark.parametrize("method", ["prompts/get", "prompts/list", "resources/read", "resources/list"])
def test_what_is_not_offered_is_not_found(client, method):
    params = {"name": "x", "uri": "file:///etc/passwd", "arguments": {}}
    assert said(rpc(client, method, params=params))["error"]["message"] == "Method not found"


@pytest.mark.parametrize("name", ["nothing", "watch", "__init__"])
def test_a_tool_that_is_none_is_an_error(client, name):
    assert tool(client, name)["isError"]


def test_it_says_the_version_of_the_program(client):
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    found = said(rpc(client, "initialize", params=about))["result"]
    assert found["serverInfo"]["version"] == playground.__version__ and set(found["capabilities"]) >= {"tools"}


@pytest.mark.parametrize("meta", [None, {"progressToken": 7}], ids=["quiet", "progress"])
def test_a_client_that_leaves_frees_the_worker(server, client, meta):
    seed = 70 + bool(meta)
    body = {"name": "generate", "arguments": LONG | {"seed": seed}} | ({"_meta": meta} if meta else {})
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": body}).encode()
    head = f"POST {MCP}/ HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(call)}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items()) + "\r\n"
    before = len(server.log("run began"))
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(head.encode() + call)
        server.wait_for(lambda: len(server.log("run began")) > before)
    (run,) = [line["run"] for line in server.log("run began")[before:]]
    server.wait_for(lambda: any(line["run"] == run for line in server.log("run ended")))
    (ended,) = [line for line in server.log("run ended") if line["run"] == run]
    assert ended["status"] == "stopped" and ended["step"] < 100
    assert not tool(client, "generate", meta, steps=2, length=24, seed=1)["isError"]  # one that stays is answered


def test_a_client_that_leaves_takes_no_other_with_it(serve):
    """All share one session of the queue: what is stopped there is one call, not its endpoint."""
    server = serve(PLAYGROUND_CONCURRENCY="2")
    call = {"name": "generate", "arguments": LONG | {"seed": 80}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=60) as stays, ThreadPoolExecutor(1) as pool:
        with pytest.raises(httpx.ReadTimeout):
            stays.post(f"{MCP}/", content=body, headers=HEADERS, timeout=0.5)
        answer = pool.submit(tool, stays, "generate", steps=40, length=256, seed=81)
        for _ in range(3):  # others come and leave while it is computed
            with contextlib.suppress(httpx.ReadTimeout):
                stays.post(f"{MCP}/", content=body, headers=HEADERS, timeout=0.3)
        assert not answer.result(timeout=60)["isError"]
    server.wait_for(lambda: len(server.log("run ended")) == len(server.log("run began")))
    ended = [(line["steps"], line["status"]) for line in server.log("run ended")]
    assert (40, "finished") in ended and {status for steps, status in ended if steps == 250} == {"stopped"}


def test_a_request_that_is_cut_is_not_a_failure(server, client):
    failed = len(server.log("request failed"))
    for path in (f"{MCP}/", "/gradio_api/call/v2/generate"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
            head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n"
            connection.sendall(head.encode() + b'{"jsonrpc"')
    assert not tool(client, "models")["isError"]
    assert len(server.log("request failed")) == failed


def test_all_of_the_log_is_lines_of_json_without_what_was_sent(server, client):
    rpc(client, params={"name": "models", "_meta": {"progressToken": ["SECRET"]}, "arguments": {}, "task": ["SECRET"]})
    tool(client, "nothing", SECRET="SECRET")
    server.wait_for(lambda: server.log("warning of root"))
    text = server.written.read_text()
    assert "SECRET" not in text and "FORGED" not in text and "Traceback" not in text
