"""The page's API as tools for MCP clients, asked by the reference client."""

import ast

import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

import playground


@pytest.fixture(scope="module")
def ask(url, in_a_loop):
    async def session(talk):
        address = f"{url}gradio_api/mcp/"
        async with streamable_http_client(address) as (read, write, _), ClientSession(read, write) as client:
            await client.initialize()
            return await talk(client)

    return lambda talk: in_a_loop(session, talk)


@pytest.fixture(scope="module")
def tools(ask):
    found = ask(lambda client: client.list_tools()).tools
    return {tool.name: tool for tool in found}


def test_the_tools_are_the_api_and_say_what_they_do_and_take(tools):
    assert set(tools) == {"generate", "stream", "infill", "interpolate", "compare", "race", "batch", "models"}
    assert all(len(tool.description) > 60 for tool in tools.values())
    steps = tools["generate"].inputSchema["properties"]["steps"]
    assert steps["type"] == "number" and "Whole numbers from 1 to 256." in steps["description"]
    assert "stories-masked" in tools["infill"].inputSchema["properties"]["model"]["description"]


def test_a_tool_gives_the_text_that_python_gives(ask):
    fields = {"prompt": "Once upon a time", "steps": 4, "length": 24, "seed": 7}
    answer = ask(lambda client: client.call_tool("generate", fields))
    assert not answer.isError
    assert ast.literal_eval(answer.content[0].text)["text"] == playground.generate(**fields).text


def test_a_tool_refuses_with_a_sentence(ask):
    answer = ask(lambda client: client.call_tool("generate", {"steps": 0}))
    assert answer.isError
    assert answer.content[0].text == "steps: 0 is out of range; allowed: whole numbers from 1 to 256."
