"""Conversations that chat templates are tried with: the shapes that clients send, and odd ones."""

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city, now.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "City & country, e.g. \"Zürich\""},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
                "days": {"type": "integer", "minimum": 1, "nullable": True},
            },
            "required": ["city"],
        },
    },
}
SEARCH = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "Search <the> web",
        "parameters": {
            "type": "object",
            "properties": {
                "queries": {"type": "array", "items": {"type": "string"}, "description": "What to look for"},
                "filter": {
                    "type": "object",
                    "properties": {"lang": {"type": "string"}, "since": {"type": "number"}},
                    "required": ["lang"],
                },
                "exact": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
            },
            "required": ["queries", "filter"],
            "additionalProperties": False,
        },
        "strict": True,
    },
}
PING = {"type": "function", "function": {"name": "ping", "description": ""}}
EMPTY = {"type": "function", "function": {"name": "now", "description": "Time", "parameters": {"type": "object", "properties": {}}}}
UNION = {
    "type": "function",
    "function": {
        "name": "pick",
        "description": "Union types",
        "parameters": {
            "type": "object",
            "properties": {"x": {"type": ["string", "null"], "description": "maybe"}, "y": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
        },
    },
}


def user(content="What is up?"):
    return {"role": "user", "content": content}


def assistant(content="Not much.", **more):
    return {"role": "assistant", "content": content, **more}


def system(content="Be brief."):
    return {"role": "system", "content": content}


def call(name, arguments, id="call_1"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool(content, id="call_1", name=None):
    message = {"role": "tool", "tool_call_id": id, "content": content}
    if name is not None:
        message["name"] = name
    return message


PARTS = [{"type": "text", "text": "First part. "}, {"type": "text", "text": "Second part."}]
UNICODE = "Grüße 你好 🙂 \u202e e\u0301 \U0001d518 İstanbul ß"
MARKERS = "<|im_end|>\n<|im_start|>system\nx</s>[/INST]<end_of_turn><|eot_id|><think>no</think>{{ 7 * 7 }} {% raw %}"
ODD = "  \n\ttabs\r\nand\u00a0blanks \\ \" ' <tag> & %s {0} \x01 \x7f\n\n"

CALLS = [
    user("Weather in Paris?"),
    assistant("", tool_calls=[call("get_weather", {"city": "Paris", "days": 2})]),
    tool('{"temp": 21.5}', name="get_weather"),
]
PARALLEL = [
    user("Compare."),
    assistant("Let me look.", tool_calls=[
        call("get_weather", {"city": "Paris", "unit": "celsius"}, "call_a"),
        call("search", {"queries": ["a", "b"], "filter": {"lang": "de", "since": 1.5e-7}, "exact": False, "tags": []}, "call_b"),
    ]),
    tool("21", "call_a", "get_weather"),
    tool("nothing\nfound", "call_b", "search"),
]

CONVERSATIONS = [
    ("user", [user()], {}),
    ("user without generation prompt", [user()], {"add_generation_prompt": False}),
    ("system and user", [system(), user()], {}),
    ("one round", [user("Hi"), assistant("Hello."), user("Bye")], {}),
    ("three rounds with system", [system(), user("1"), assistant("2"), user("3"), assistant("4"), user("5")], {}),
    ("ends with assistant", [user("Hi"), assistant("Hello.")], {}),
    ("ends with assistant, no generation prompt", [user("Hi"), assistant("Hello.")], {"add_generation_prompt": False}),
    ("developer", [{"role": "developer", "content": "Only rhymes."}, user()], {}),
    ("system and developer", [system(), {"role": "developer", "content": "Only rhymes."}, user()], {}),
    ("two systems", [system("One."), system("Two."), user()], {}),
    ("system later", [user("a"), assistant("b"), system("New rules."), user("c")], {}),
    ("only system", [system()], {}),
    ("no messages", [], {}),
    ("two users", [user("a"), user("b")], {}),
    ("two assistants", [user("a"), assistant("b"), assistant("c"), user("d")], {}),
    ("assistant first", [assistant("Welcome."), user("Hi")], {}),
    ("unknown role", [user("a"), {"role": "narrator", "content": "Rain."}, user("b")], {}),
    ("parts", [user(PARTS)], {}),
    ("system parts", [{"role": "system", "content": PARTS}, user()], {}),
    ("assistant parts", [user("a"), {"role": "assistant", "content": PARTS}, user("b")], {}),
    ("image part", [user([{"type": "image"}, {"type": "text", "text": "What is it?"}])], {}),
    ("null content", [user("a"), assistant(None), user("b")], {}),
    ("missing content", [user("a"), {"role": "assistant"}, user("b")], {}),
    ("empty content", [system(""), user(""), assistant(""), user("")], {}),
    ("blank content", [system("  "), user(" \n "), assistant("\n\nx\n\n"), user("  y  ")], {}),
    ("unicode", [system(UNICODE), user(UNICODE), assistant(UNICODE), user("ok")], {}),
    ("markers in text", [system(MARKERS), user(MARKERS), assistant(MARKERS), user(MARKERS)], {}),
    ("odd text", [system(ODD), user(ODD), assistant(ODD), user(ODD)], {}),
    ("tools offered", [user()], {"tools": [WEATHER, SEARCH]}),
    ("tools offered, with system", [system(), user()], {"tools": [WEATHER]}),
    ("tools of odd shapes", [user()], {"tools": [PING, EMPTY]}),
    ("tool with union types", [user()], {"tools": [UNION]}),
    ("empty tools", [user()], {"tools": []}),
    ("tool call and result", CALLS, {"tools": [WEATHER]}),
    ("tool call and result, answered", CALLS + [assistant("21.5 degrees."), user("Thanks")], {"tools": [WEATHER]}),
    ("tool call without tools", CALLS, {}),
    ("parallel calls", PARALLEL, {"tools": [WEATHER, SEARCH]}),
    ("parallel calls, answered", PARALLEL + [assistant("Done."), user("More?")], {"tools": [WEATHER, SEARCH]}),
    ("call pending", CALLS[:2], {"tools": [WEATHER], "add_generation_prompt": False}),
    ("two rounds of calls", CALLS + [assistant(None, tool_calls=[call("search", {"queries": [], "filter": {}}, "call_2")]), tool("[]", "call_2")], {"tools": [WEATHER, SEARCH]}),
    ("arguments as string", [user("a"), assistant("", tool_calls=[call("get_weather", '{"city": "Rome"}')]), tool("5")], {"tools": [WEATHER]}),
    ("arguments empty", [user("a"), assistant("", tool_calls=[call("now", {})]), tool("12:00")], {"tools": [EMPTY]}),
    ("arguments hold markers", [user("a"), assistant("", tool_calls=[call("get_weather", {"city": "</tool_call><|im_end|>\n'\"", "n": None, "b": True, "deep": {"l": [1, 2.0, [None]]}})]), tool("</tool_response>")], {"tools": [WEATHER]}),
    ("null content with calls", [user("a"), assistant(None, tool_calls=[call("get_weather", {"city": "Oslo"})]), tool("cold")], {"tools": [WEATHER]}),
    ("call without type", [user("a"), assistant("", tool_calls=[{"id": "123456789", "function": {"name": "now", "arguments": {}}}]), tool("x", "123456789")], {"tools": [EMPTY]}),
    ("nine-character ids", [user("a"), assistant("", tool_calls=[call("get_weather", {"city": "Bonn"}, "abcdefghi")]), tool("wet", "abcdefghi", "get_weather"), assistant("Wet."), user("ok")], {"tools": [WEATHER]}),
    ("flat calls", [user("a"), assistant("", tool_calls=[{"name": "now", "arguments": {}}]), tool("x")], {}),
    ("tool result parts", CALLS[:2] + [{"role": "tool", "tool_call_id": "call_1", "content": PARTS}], {"tools": [WEATHER]}),
    ("reasoning", [user("2+2?"), assistant("4", reasoning_content="Two and two."), user("3+3?")], {}),
    ("reasoning and call", [user("a"), assistant("", reasoning_content="I should look.", tool_calls=[call("now", {})]), tool("12")], {"tools": [EMPTY]}),
    ("reasoning null", [user("a"), assistant("b", reasoning_content=None), user("c")], {}),
    ("think tags in content", [user("a"), assistant("<think>\nhm\n</think>\n\nb"), user("c")], {}),
    ("thinking on", [user()], {"enable_thinking": True}),
    ("thinking off", [system(), user()], {"enable_thinking": False}),
    ("thinking field", [user("a"), assistant("b", thinking="quietly"), user("c")], {"reasoning_effort": "high"}),
    ("documents", [user("a")], {"documents": [{"title": "T", "text": "D <b> \u00fc"}]}),
    ("names", [{"role": "user", "name": "Ann", "content": "a"}, {"role": "assistant", "name": "Bot", "content": "b"}, {"role": "user", "name": "Ben", "content": "c"}], {}),
    ("numbers as content", [user(42), assistant(1.0), user(True)], {}),
    ("two systems after another role", [user("a"), system("One."), system("Two."), user("b")], {}),
    ("developer later", [system(), user("a"), assistant("b"), {"role": "developer", "content": "Now rhyme."}, user("c")], {}),
    ("developer parts", [{"role": "developer", "content": PARTS}, user()], {}),
    ("empty parts", [user([]), assistant([]), user([{"type": "text", "text": ""}])], {}),
    ("many parts", [user([{"type": "text", "text": UNICODE}, {"type": "image_url", "image_url": {"url": "data:,x"}}, {"type": "text", "text": "and?"}])], {}),
    ("null system", [system(None), user()], {}),
    ("tool first", [tool("5", name="get_weather"), user("a")], {"tools": [WEATHER]}),
    ("tool after user", [user("a"), tool("5", name="get_weather")], {"tools": [WEATHER]}),
    ("tool result empty", CALLS[:2] + [tool("", name="get_weather")], {"tools": [WEATHER]}),
    ("tool result null", CALLS[:2] + [tool(None, name="get_weather")], {"tools": [WEATHER]}),
    ("tool result missing", CALLS[:2] + [user("Well?")], {"tools": [WEATHER]}),
    ("tool result odd", CALLS[:2] + [tool(ODD + UNICODE + MARKERS, name="get_weather")], {"tools": [WEATHER]}),
    ("three parallel calls", [user("a"), assistant(None, tool_calls=[call("now", {}, f"call_{i}") for i in range(3)])] + [tool(str(i), f"call_{i}", "now") for i in range(3)], {"tools": [EMPTY]}),
    ("parallel results out of order", PARALLEL[:2] + [PARALLEL[3], PARALLEL[2]], {"tools": [WEATHER, SEARCH]}),
    ("empty list of calls", [user("a"), assistant("b", tool_calls=[]), user("c")], {}),
    ("null calls", [user("a"), assistant("b", tool_calls=None), user("c")], {}),
    ("arguments missing", [user("a"), assistant("", tool_calls=[{"id": "1", "type": "function", "function": {"name": "now"}}]), tool("x", "1")], {"tools": [EMPTY]}),
    ("arguments of numbers", [user("a"), assistant("", tool_calls=[call("pick", {"i": 10**15, "f": 1e21, "s": 1e-7, "z": -0.0, "t": True, "u": "\u00e9\u2028<>&'"})]), tool("x")], {"tools": [WEATHER]}),
    ("reasoning in several turns", [user("a"), assistant("b", reasoning_content="r1"), user("c"), assistant("d", reasoning_content="r2\n\n"), user("e")], {}),
    ("reasoning empty", [user("a"), assistant("b", reasoning_content=""), user("c")], {}),
    ("reasoning alone", [user("a"), assistant("", reasoning_content="only thought")], {"add_generation_prompt": False}),
    ("reasoning and calls, two rounds", [user("a"), assistant("", reasoning_content="first", tool_calls=[call("now", {})]), tool("12"), assistant("", reasoning_content="second", tool_calls=[call("now", {}, "call_2")]), tool("13", "call_2"), assistant("Done.", reasoning_content="third"), user("b")], {"tools": [EMPTY]}),
    ("open think tag", [user("a"), assistant("<think>never closed"), user("c")], {}),
    ("thinking on, with tools", [system(), user()], {"enable_thinking": True, "tools": [WEATHER]}),
    ("thinking off, after a round", [user("a"), assistant("b"), user("c")], {"enable_thinking": False}),
    ("no generation prompt after a tool", CALLS, {"tools": [WEATHER], "add_generation_prompt": False}),
    ("only assistant", [assistant("Hello.")], {"add_generation_prompt": False}),
    ("only newlines", [user("\n"), assistant("\n\n"), user("\r\n")], {}),
    ("one letter", [user("a")], {"add_generation_prompt": False}),
    ("no trailing user", [system(), user("a"), assistant("b"), user("c"), assistant("d")], {"add_generation_prompt": False}),
    ("long", [m for i in range(12) for m in (user(f"question {i} " + "x" * (7 * i)), assistant(f"answer {i}\n" + "y" * i))] + [user("end")], {}),
]


def context(messages, more):
    """The variables that a template gets; tools and documents are none when absent."""
    return {
        "messages": messages,
        "tools": None,
        "documents": None,
        "add_generation_prompt": True,
        "bos_token": "<BOS>",
        "eos_token": "<EOS>",
        **more,
    }
