"""The page of a tab: textual-serve's terminal, with the key in the tab's own storage.

Browsers send cookies to every port of a machine (RFC 6265, 8.5), so that a server of another user would be given the
key. What a page keeps in its session storage is for its own scheme, host and port, and for this tab
(https://html.spec.whatwg.org/multipage/webstorage.html).
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final

_SCRIPT: Final = """
const given = new URLSearchParams(location.search).get("key");
if (given) {
  sessionStorage.setItem("turbotui", given);
  history.replaceState(null, "", "/");  // the key does not stay in the address bar
}
const key = sessionStorage.getItem("turbotui") || "";
const Plain = WebSocket;
window.WebSocket = class extends Plain {
  constructor(url) { super(url + "&key=" + encodeURIComponent(key)); }
};
const toTerminal = () => document.querySelector(".xterm-helper-textarea")?.focus();
document.addEventListener("DOMContentLoaded", () => {
  const terminal = document.getElementById("terminal");
  terminal.dataset.sessionWebsocketUrl = location.origin.replace("http", "ws") + "/ws";
  if (!key) document.getElementById("why").textContent = "The whole address is needed, with the key.";
  document.getElementById("again").addEventListener("click", () => location.reload());
});
addEventListener("load", () => setTimeout(toTerminal));  // after the terminal's own handler, which makes it
addEventListener("focus", toTerminal);
addEventListener("click", toTerminal);
"""
PAGE: Final = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>turbotui</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/css/xterm.css">
<style>
body {{ background: #10151a; color: #e6ebf0; font-family: monospace; margin: 0; }}
#terminal {{ position: absolute; width: 100vw; height: 100vh; }}
#ended {{ display: none; position: relative; z-index: 10; padding: 2em; }}
.xterm-viewport {{ scrollbar-width: none; }}
body.-closed #ended {{ display: block; }}
body.-closed #terminal {{ display: none; }}
</style>
<script>{_SCRIPT}</script>
<script src="/static/js/textual.js"></script>
</head>
<body>
<div id="ended"><p id="why">The dashboard has ended.</p><button id="again" type="button">Start again</button></div>
<div id="terminal" class="textual-terminal" data-font-size="16"></div>
</body>
</html>
"""

_DIGEST: Final = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
POLICY: Final = (f"default-src 'none'; script-src 'self' 'sha256-{_DIGEST}'; style-src 'self' 'unsafe-inline'; "
                 "font-src 'self' data:; img-src 'self' data:; connect-src 'self' {socket}; frame-ancestors 'none'; "
                 "base-uri 'none'; form-action 'none'")
"""The page's content security policy; {socket} stands for the origin of its web socket."""
