"""What the model APIs look like: requests read into one form, replies written as each API streams them."""

import json
from dataclasses import dataclass, field

# Tokens of every answer: input, input from a cache, output, and thinking within the output.
INPUT_TOKENS, CACHED_TOKENS, OUTPUT_TOKENS, THOUGHT_TOKENS = 800, 200, 50, 10
WHOLE_INPUT = INPUT_TOKENS + CACHED_TOKENS


@dataclass
class Turn:
    """One part of a conversation: `user` text, a `call` of a tool, or the `result` of one."""

    kind: str
    text: str


@dataclass
class Ask:
    protocol: str
    model: str
    stream: bool
    tools: dict
    turns: list = field(default_factory=list)


@dataclass
class Say:
    text: str


@dataclass
class Call:
    tool: str
    arguments: dict


@dataclass
class Fail:
    """An HTTP error in the words of the provider."""

    status: int
    kind: str
    message: str
    headers: dict = field(default_factory=dict)


@dataclass
class Silence:
    """No answer at all, until the client gives up or is killed."""


def _text_of(content) -> list:
    if content is None:
        return []
    if isinstance(content, str):
        return [content]
    return [part.get("text") or "" for part in content if isinstance(part, dict) and part.get("text")]


def _schema(tool: dict) -> dict:
    return tool.get("parameters") or tool.get("input_schema") or tool.get("parametersJsonSchema") or {}


# --- Anthropic messages

def read_anthropic(body: dict) -> Ask:
    ask = Ask("anthropic", body.get("model", ""), bool(body.get("stream")), {})
    ask.tools = {tool["name"]: _schema(tool) for tool in body.get("tools") or [] if "name" in tool}
    for message in body.get("messages") or []:
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for block in content or []:
            if block.get("type") == "text" and message.get("role") == "user":
                ask.turns.append(Turn("user", block["text"]))
            elif block.get("type") == "tool_use":
                ask.turns.append(Turn("call", json.dumps(block.get("input"))))
            elif block.get("type") == "tool_result":
                ask.turns.append(Turn("result", "\n".join(_text_of(block.get("content")))))
    return ask


def write_anthropic(ask: Ask, reply, number: int):
    usage = {"input_tokens": INPUT_TOKENS, "cache_creation_input_tokens": 0,
             "cache_read_input_tokens": CACHED_TOKENS, "output_tokens": 1}
    ended = dict(usage, output_tokens=OUTPUT_TOKENS)
    if isinstance(reply, Call):
        block = {"type": "tool_use", "id": f"toolu_{number:06}", "name": reply.tool, "input": reply.arguments}
        start = dict(block, input={})
        delta = {"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}
    else:
        block = {"type": "text", "text": reply.text}
        start = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": reply.text}
    stop = "tool_use" if isinstance(reply, Call) else "end_turn"
    message = {"id": f"msg_{number:06}", "type": "message", "role": "assistant", "model": ask.model or "scripted"}
    if not ask.stream:
        return json.dumps(dict(message, content=[block], stop_reason=stop, stop_sequence=None, usage=ended))
    head = dict(message, content=[], stop_reason=None, stop_sequence=None, usage=usage)
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in [
        {"type": "message_start", "message": head},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": ended},
        {"type": "message_stop"},
    ])


# --- OpenAI responses

def read_responses(body: dict) -> Ask:
    ask = Ask("responses", body.get("model", ""), bool(body.get("stream")), {})
    for tool in body.get("tools") or []:
        if tool.get("type") == "function":
            ask.tools[tool["name"]] = _schema(tool)
        elif tool.get("type") == "namespace":
            ask.tools.update({one["name"]: _schema(one) for one in tool.get("tools") or [] if "name" in one})
    items = body.get("input") or []
    if isinstance(items, str):
        items = [{"type": "message", "role": "user", "content": items}]
    for item in items:
        kind = item.get("type", "message")
        if kind == "message" and item.get("role") == "user":
            ask.turns += [Turn("user", text) for text in _text_of(item.get("content"))]
        elif kind.endswith("_output"):
            output = item.get("output")
            text = output if isinstance(output, str) else "\n".join(_text_of(output if isinstance(output, list) else []))
            ask.turns.append(Turn("result", text))
        elif kind.endswith("_call"):
            ask.turns.append(Turn("call", item.get("arguments") or item.get("input") or ""))
    return ask


def write_responses(ask: Ask, reply, number: int):
    if isinstance(reply, Call):
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": reply.tool,
                "arguments": json.dumps(reply.arguments), "status": "completed"}
    else:
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": reply.text, "annotations": []}]}
    usage = {"input_tokens": WHOLE_INPUT, "input_tokens_details": {"cached_tokens": CACHED_TOKENS}, "output_tokens": OUTPUT_TOKENS,
             "output_tokens_details": {"reasoning_tokens": THOUGHT_TOKENS}, "total_tokens": WHOLE_INPUT + OUTPUT_TOKENS}
    answer = {"id": f"resp_{number}", "object": "response", "status": "completed", "model": ask.model, "output": [item], "usage": usage}
    if not ask.stream:
        return json.dumps(answer)
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in [
        {"type": "response.created", "response": {"id": answer["id"], "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": dict(item, status="in_progress")},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": answer},
    ])


# --- OpenAI chat completions

def read_chat(body: dict) -> Ask:
    ask = Ask("chat", body.get("model", ""), bool(body.get("stream")), {})
    for tool in body.get("tools") or []:
        function = tool.get("function") or {}
        if "name" in function:
            ask.tools[function["name"]] = _schema(function)
    for message in body.get("messages") or []:
        role = message.get("role")
        if role == "user":
            ask.turns += [Turn("user", text) for text in _text_of(message.get("content"))]
        elif role == "assistant":
            for call in message.get("tool_calls") or []:
                ask.turns.append(Turn("call", (call.get("function") or {}).get("arguments") or ""))
        elif role == "tool":
            ask.turns.append(Turn("result", "\n".join(_text_of(message.get("content")))))
    return ask


def write_chat(ask: Ask, reply, number: int):
    base = {"id": f"chatcmpl-{number}", "created": 1760000000, "model": ask.model or "scripted"}
    usage = {"prompt_tokens": WHOLE_INPUT, "completion_tokens": OUTPUT_TOKENS, "total_tokens": WHOLE_INPUT + OUTPUT_TOKENS,
             "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
             "completion_tokens_details": {"reasoning_tokens": THOUGHT_TOKENS}}
    if isinstance(reply, Call):
        call = {"id": f"call_{number}", "type": "function",
                "function": {"name": reply.tool, "arguments": json.dumps(reply.arguments)}}
        message, finish = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
        delta = {"role": "assistant", "content": None, "tool_calls": [dict(call, index=0)]}
    else:
        message, finish = {"role": "assistant", "content": reply.text}, "stop"
        delta = message
    if not ask.stream:
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return json.dumps(dict(base, object="chat.completion", choices=[choice], usage=usage))
    chunk = dict(base, object="chat.completion.chunk")
    parts = [
        dict(chunk, choices=[{"index": 0, "delta": delta, "finish_reason": None}]),
        dict(chunk, choices=[{"index": 0, "delta": {}, "finish_reason": finish}]),
        dict(chunk, choices=[], usage=usage),
    ]
    return "".join(f"data: {json.dumps(one)}\n\n" for one in parts) + "data: [DONE]\n\n"


# --- Gemini

def read_gemini(body: dict, model: str, stream: bool) -> Ask:
    ask = Ask("gemini", model, stream, {})
    for group in body.get("tools") or []:
        for tool in group.get("functionDeclarations") or []:
            ask.tools[tool["name"]] = _schema(tool)
    for content in body.get("contents") or []:
        for part in content.get("parts") or []:
            if "functionCall" in part:
                ask.turns.append(Turn("call", json.dumps(part["functionCall"].get("args"))))
            elif "functionResponse" in part:
                ask.turns.append(Turn("result", json.dumps(part["functionResponse"].get("response"), ensure_ascii=False)))
            elif content.get("role") == "user" and part.get("text"):
                ask.turns.append(Turn("user", part["text"]))
    return ask


def write_gemini(ask: Ask, reply, number: int):
    part = {"functionCall": {"name": reply.tool, "args": reply.arguments}} if isinstance(reply, Call) else {"text": reply.text}
    answer = {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": WHOLE_INPUT, "cachedContentTokenCount": CACHED_TOKENS,
                          "candidatesTokenCount": OUTPUT_TOKENS - THOUGHT_TOKENS, "thoughtsTokenCount": THOUGHT_TOKENS,
                          "totalTokenCount": WHOLE_INPUT + OUTPUT_TOKENS},
        "modelVersion": ask.model, "responseId": f"resp-{number}",
    }
    return f"data: {json.dumps(answer)}\n\n" if ask.stream else json.dumps(answer)


WRITERS = {"anthropic": write_anthropic, "responses": write_responses, "chat": write_chat, "gemini": write_gemini}


def write_failure(protocol: str, fail: Fail) -> str:
    """An error body as the API words it."""
    if protocol == "anthropic":
        return json.dumps({"type": "error", "error": {"type": fail.kind, "message": fail.message}, "request_id": "req_1"})
    if protocol == "gemini":
        return json.dumps({"error": {"code": fail.status, "message": fail.message, "status": fail.kind.upper()}})
    more = getattr(fail, "more", {})
    return json.dumps({"error": {"message": fail.message, "type": fail.kind, "code": fail.kind, "param": None, **more}})
