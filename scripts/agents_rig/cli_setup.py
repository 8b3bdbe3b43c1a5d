"""How each CLI is pointed at the scripted model: endpoint variables and settings files in a home of its own.

This file does not change how liza starts a CLI; the built-in entry decides that.
"""

import json

# Long enough that a CLI that masks secrets by value masks no other text.
KEY = "dummy-key-of-the-rig-0123456789"
MODEL = "scripted-model"


def _claude(home, url):
    settings = {"env": {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "API_TIMEOUT_MS": "60000",
                        # The default of ten attempts takes three minutes.
                        "CLAUDE_CODE_MAX_RETRIES": "2"}}
    _write(home / ".claude" / "settings.json", json.dumps(settings))
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY}


def _codex(home, url):
    _write(home / ".codex" / "config.toml", f"""\
model = "{MODEL}"
model_provider = "rig"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.rig]
name = "rig"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 1
stream_max_retries = 1
""")
    return {"CODEX_HOME": str(home / ".codex"), "OPENAI_API_KEY": KEY}


# An older Codex, which is an MCP server too: the coder of `liza experiment`. Planner and reviewer are the same Codex as provider `codex`.
PROVIDER_OF = {"codex_mcp": "codex"}


def _gemini(home, url):
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
        # Without a name the CLI asks another model which one to use.
        "model": {"name": "gemini-2.5-pro"},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "enableAutoUpdate": False},
    }
    _write(home / ".gemini" / "settings.json", json.dumps(settings))
    return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": KEY}


def _opencode(home, url):
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "Rig", "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
                "models": {MODEL: {"name": "Scripted", "limit": {"context": 200000, "output": 8000}}}}
    config = {"$schema": "https://opencode.ai/config.json", "autoupdate": False, "share": "disabled",
              "model": f"rig/{MODEL}", "small_model": f"rig/{MODEL}", "provider": {"rig": provider}}
    _write(home / ".config" / "opencode" / "opencode.json", json.dumps(config))
    return {}


def _qwen(home, url):
    settings = {"security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": False},
                "general": {"disableAutoUpdate": True, "enableAutoUpdate": False}, "telemetry": {"enabled": False}}
    _write(home / ".qwen" / "settings.json", json.dumps(settings))
    return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY, "OPENAI_MODEL": MODEL}


def _copilot(home, url):
    return {"COPILOT_HOME": str(home / ".copilot"), "COPILOT_MODEL": MODEL,
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": KEY}


def _kimi(home, url):
    _write(home / ".kimi-code" / "config.toml", f"""\
default_model = "{MODEL}"
telemetry = false
[providers.rig]
type = "openai"
protocol = "openai"
base_url = "{url}/v1"
api_key = "{KEY}"
[models."{MODEL}"]
provider = "rig"
model = "{MODEL}"
max_context_size = 200000
""")
    return {"KIMI_CODE_HOME": str(home / ".kimi-code")}


def _vibe(home, url):
    _write(home / ".vibe" / "config.toml", f"""\
active_model = "scripted"
enable_telemetry = false
enable_update_checks = false
enable_auto_update = false
[[providers]]
name = "rig"
api_base = "{url}/v1"
api_key_env_var = "MISTRAL_API_KEY"
api_style = "openai"
backend = "generic"
[[models]]
name = "{MODEL}"
provider = "rig"
alias = "scripted"
""")
    return {"VIBE_HOME": str(home / ".vibe"), "MISTRAL_API_KEY": KEY}


def _acpx(home, url):
    """Any agent of the Agent Client Protocol; here OpenCode is the agent."""
    return _opencode(home, url)


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


SETUPS = {
    "claude": _claude, "codex": _codex, "gemini": _gemini, "opencode": _opencode,
    "qwen": _qwen, "copilot": _copilot, "kimi": _kimi, "vibe": _vibe, "acpx": _acpx, "codex_mcp": _codex,
}


# The variables and settings to remove so that the CLI is not logged in. The endpoint stays on loopback.
def log_out(cli, home, env):
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "COPILOT_PROVIDER_API_KEY", "MISTRAL_API_KEY"):
        env.pop(name, None)
    if cli == "codex":
        # Its own service needs a login; a user-defined provider would only lack its key.
        url = env["LIZA_RIG_URL"]
        _write(home / ".codex" / "config.toml", f'model = "{MODEL}"\nopenai_base_url = "{url}/v1"\n'
               'chatgpt_base_url = "' + url + '"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n')
    if cli == "copilot":
        for name in ("COPILOT_PROVIDER_BASE_URL", "COPILOT_MODEL"):
            env.pop(name, None)
    if cli in ("opencode", "acpx"):
        path = home / ".config" / "opencode" / "opencode.json"
        config = json.loads(path.read_text())
        del config["provider"]["rig"]["options"]["apiKey"]
        path.write_text(json.dumps(config))
    if cli == "kimi":
        (home / ".kimi-code" / "config.toml").unlink()
