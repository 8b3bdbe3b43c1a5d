//! WHAT AN AGENT IS TOLD: prompts from templates; words of others are shown as data.
