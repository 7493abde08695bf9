# SPDX-License-Identifier: MIT
"""Pages for the browser's tests, on a port of 127.0.0.1 that is printed; it serves
until its input ends. localhost and 127.0.0.1 are two sites to a browser."""

import base64
import http.server
import io
import sys
import threading
import time
import zipfile

FORM = b"""<!doctype html><title>Order form</title><h1>Order form</h1>
<form onsubmit="return false"><label>Full name <input id=n placeholder="Your name"></label>
<select id=s><option value=s>Small<option value=l>Large</select>
<label><input type=checkbox id=c> I agree</label><button disabled>Frozen</button>
<button onclick="o.textContent='Button clicked! '+n.value+'/'+s.value+'/'+c.checked">
Send</button></form><p role=status id=o>idle</p>
<a href="/two">second</a><input type=file id=f onchange="o.textContent='file '+f.value">
<button hidden id=h>Secret</button>"""

# html 0, head 1, title 2, body 3, then in their order
COVERED = b"""<!doctype html><title>Covered</title><button id=b onclick="x">Below</button>
<div id=w style="position:fixed;inset:0">Wall</div>"""

# What a browser has of its last visit.
KEPT = b"""<!doctype html><title>Kept</title><p id=p></p><script>
p.textContent='has '+(document.cookie||'no cookie')+', '+(localStorage.v||'nothing')
document.cookie='v=biscuit; max-age=86400';localStorage.v='sugar'</script>"""

KEYS = b"""<!doctype html><title>Keys</title><input id=k value=abc>
<pre id=l></pre><div style="height:3000px">tall</div><p id=y>-</p><script>
k.onkeydown=e=>l.textContent+=e.key+'/'+e.code+' ';
addEventListener('scroll',()=>document.title='at '+scrollY)</script>"""

DIALOG = b"""<!doctype html><title>Dialog</title>
<button onclick="document.title='said '+confirm('Really?')">Ask</button>
<a target=_blank href=/two>popup</a>"""

SHADOW = b"""<!doctype html><title>Shadow</title><div id=d></div><script>
const r=d.attachShadow({mode:'closed'});
r.innerHTML='<button>Inside</button>';
r.firstChild.onclick=()=>document.title='clicked inside'</script>"""

INNER = b"""<!doctype html><title>Inner</title>
<button onclick="this.textContent='pressed'">Frame button</button>"""

UPLOADS = b"""<!doctype html><title>Uploads</title><body style="margin:0">
<input type=file id=f style="display:none" onchange="document.title=names(f)">
<button style="position:absolute;left:0;top:0;width:100px;height:40px" onclick="f.click()">
Pick</button><input type=file multiple id=g onchange="document.title='many '+names(g)"
style="position:absolute;left:0;top:100px;width:200px;height:30px">
<button style="position:absolute;left:0;top:200px">none</button>
<script>const names=f=>[...f.files].map(x=>x.name).join()</script>"""
# A zone for files: it highlights what is dragged over it, and takes nothing but files.
ZONE = b"""<!doctype html><title>Zone</title><div id=z role=button tabindex=0
style="width:300px;height:80px;border:1px dashed" ondragenter="this.className='over'"
ondragover="event.preventDefault();event.stopPropagation()" ondrop="take(event)">Drop files here</div>
<div role=button tabindex=0>No zone</div><p role=status id=o>-</p><script>
async function take(e){e.preventDefault();let f=[...e.dataTransfer.files];
o.textContent=z.className+' '+e.isTrusted+' '+e.dataTransfer.types+' '+(await Promise.all(f.map(
async f=>f.name+'='+(await f.text()).trim()))).join(', ')}</script>"""
CHOICES = b"""<!doctype html><title>Choices</title><select><option>one<option disabled>two
</select><input type=radio checked><button role=switch aria-checked=false
onclick="this.ariaChecked=this.ariaChecked!=='true'">Night</button>
<input type=checkbox onclick="event.preventDefault()"><div tabindex=0>widget</div>
<input aria-label=Mail type=email value=nobody>"""

# A page that draws its buttons again ten times a second: every node is another one each time.
REDRAWN = b"""<!doctype html><title>Redrawn</title><ul id=l></ul><script>
const draw=()=>{l.innerHTML=['Ann','Bob'].map(n=>'<li>'+n+
' <button onclick="document.title=`removed '+n+'`">Remove</button></li>').join('')};
draw();setInterval(draw,400)</script>"""

TINY = b"""<!doctype html><title>Tiny</title><label><input type=checkbox
style="position:absolute;width:1px;height:1px;margin:0;opacity:0"
onchange="document.title='night '+this.checked"><span
style="display:inline-block;width:40px;height:20px;background:gray"></span> Night</label>"""

CHAPTERS = b"<!doctype html><title>Chapters</title>" + b"".join(
    b"<section style='content-visibility:auto;height:600px'><h2>Chapter %d</h2></section>" % n
    for n in range(60)
) + b"<p style='content-visibility:hidden'>not to be seen</p>"

# What its scripts ask for comes a little later, or never; so does the list of a field.
ASKS = b"""<!doctype html><title>Asks</title><button onclick="ask('/answer')">Ask</button>
<button onclick="ask('/never')">Wait</button><p role=status id=o>idle</p>
<input role=combobox aria-label=City oninput="clearTimeout(t);t=setTimeout(()=>l.innerHTML=
'<li role=option>Prague',300)"><ul id=l role=listbox></ul><script>
let t;const ask=async u=>{o.textContent='loading';o.textContent=await (await fetch(u)).text()};
if(location.search)ask('/answer')</script>"""

# Its scripts ask for all of it a while behind the load, or never.
FETCHES = b"""<!doctype html><title>Fetches</title><div id=o>BEFORE</div><script>
setTimeout(async()=>{o.textContent=await(await fetch('/answer')).text()},LATER)</script>"""

# Something shows a while behind the load; then the page leads to another.
LATER = b"""<!doctype html><title>Later</title><p id=o>soon</p><button id=b style="display:none"
onclick="document.title='clicked'">Go on</button><script>setTimeout(()=>{o.textContent=
'all  is Ready';b.style.display='block'},600);if(location.search)setTimeout(()=>
location.href='/frames',1200)</script>"""

# Its text is in three trees.
PARTS = b"""<!doctype html><title>Parts</title><div id=d><b>slotted</b></div><p>light</p>
<iframe srcdoc="<p>framed"></iframe><script>d.attachShadow({mode:'open'}).innerHTML=
'<p>in the shadow</p><slot></slot><p style=display:none>hidden</p>'</script>"""
MOVING = b"""<!doctype html><title>Moving</title><button id=b style="position:relative">on
</button><input readonly value=fixed><input type=number><input type=date><script>
let x = 0; (function step() { b.style.left = ++x % 300 + 'px'; requestAnimationFrame(step) })()
</script>"""

# What a page sees: each event once, with all that tells a person from a script.
EVENTS = b"""<!doctype html><title>Events</title><style>body{margin:0}
body>*{position:absolute;left:40px;width:200px;height:30px;box-sizing:border-box;margin:0}
</style><button id=b style="top:60px">Button</button><input id=i value=old style="top:100px">
<textarea id=t style="top:140px;height:40px">old</textarea>
<div id=e contenteditable style="top:190px">old</div><input id=d type=date style="top:230px">
<input id=c type=checkbox style="top:270px;width:30px"><select id=s style="top:310px">
<option>one<option>two</select><select id=m multiple style="top:350px;height:80px">
<option>x<option>y<option>z</select><div id=g draggable=true style="top:440px">drag</div>
<div id=h style="top:480px" ondragover="event.preventDefault()"
ondrop="event.preventDefault()">drop</div><pre id=log style="left:400px;top:0;width:800px">
</pre><script>
let last = '', place = '0,0';
for (const type of ['mousedown', 'mouseup', 'click', 'dblclick', 'contextmenu', 'auxclick',
    'mousemove', 'keydown', 'keypress', 'keyup', 'beforeinput', 'input', 'change', 'focus',
    'blur', 'dragstart', 'dragenter', 'dragover', 'drop', 'dragend', 'invalid', 'submit'])
    document.addEventListener(type, e => {
        if (e.key === 'F9')
            return type === 'keydown' && log.append('--\\n');
        /* Chromium tells of the pointer again when what is below it has changed. */
        const at = e.clientX + ',' + e.clientY;
        if (type === 'mousemove' && at === place)
            return;
        place = 'clientX' in e ? at : place;
        const all = [type, e.target.id || e.target.nodeName, e.isTrusted];
        for (const k of ['clientX', 'clientY', 'button', 'buttons', 'detail', 'key', 'code',
            'location', 'altKey', 'ctrlKey', 'metaKey', 'shiftKey', 'inputType', 'data'])
            if (k in e) all.push(k + '=' + e[k]);
        const now = all.join(' ');
        /* How often a drag repeats itself is a matter of time. */
        if (now !== last || !type.startsWith('drag')) log.append(now + '\\n');
        last = now;
    }, true);
</script>"""

# What is dragged comes with its text; where it is not held, nothing begins.
DRAG = b"""<!doctype html><title>Drag</title><style>*{margin:0}p{height:40px}</style>
<p id=s draggable=true>take</p><p id=d ondragover="event.preventDefault()">put</p>
<p id=n draggable=true ondragstart="event.preventDefault()">stay</p><p role=status id=o>-</p>
<script>s.ondragstart=e=>e.dataTransfer.setData('text/plain','the payload');
let all=[];for(const t of ['dragstart','dragenter','dragover','drop','dragend','mouseup'])
addEventListener(t,e=>{const w=t+' '+e.target.id+(t==='drop'?' '+e.dataTransfer.getData(
'text/plain'):'');if(all[all.length-1]!==w)all.push(w);o.textContent=all.join(', ');
if(t==='drop')e.preventDefault()})</script>"""

# A page as MiniWoB++'s are: what it does to its display fails where that is not there.
WOB = b"""<!doctype html><title>Task</title><style>body,p{margin:0}button{height:30px}</style>
<div id=wrap><div id=query>-</div><div id=area><button onclick="core.endEpisode(1,true)">right
</button><button onclick="core.endEpisode(-1)">wrong</button><button
onclick="setTimeout(()=>core.endEpisode(0.3),300)">late</button><p role=status id=o>-</p></div>
</div><script>
var core = {EPISODE_MAX_TIME: 10000, EP_TIMER: null, CD_TIMER: null, cover_div: null};
var WOB_REWARD_GLOBAL = 0, WOB_RAW_REWARD_GLOBAL = 0, WOB_REWARD_REASON = null,
    WOB_DONE_GLOBAL = false, WOB_EPISODE_ID = 0, WOB_TASK_READY = READY;
let seeds = [], clicks = 0;
const at = id => document.getElementById(id);
Math.seedrandom = seed => seeds.push(seed);
core.canvasDrawClick = () => clicks++;
core.createDisplay = () => {
    if (at('reward-display')) return;
    const canvas = document.createElement('canvas'), all = document.createElement('div');
    canvas.id = 'click-canvas';
    all.id = 'reward-display';
    all.innerHTML = 'Last reward: <b id=reward-last>-</b> left: <b id=timer-countdown>-</b>';
    document.body.append(canvas, all);
    document.body.addEventListener('click', core.canvasDrawClick);
};
core.clearTimer = () => { clearInterval(core.CD_TIMER); at('timer-countdown').style.color = '' };
core.startEpisode = () => {
    core.createDisplay();
    if (!core.cover_div) {
        core.cover_div = document.createElement('div');
        core.cover_div.id = 'sync-task-cover';
        core.cover_div.textContent = 'START';
        document.body.append(core.cover_div);
    }
    core.cover_div.style.display = 'block';
};
core.startEpisodeReal = () => {
    at('query').innerHTML = 'Press <b>the right</b> one of ' + seeds.length + ' seed.';
    WOB_DONE_GLOBAL = false;
    WOB_REWARD_GLOBAL = WOB_RAW_REWARD_GLOBAL = 0;
    at('sync-task-cover').style.display = 'none';
    core.CD_TIMER = setInterval(() => at('timer-countdown').textContent = 'less', 50);
    core.EP_TIMER = setTimeout(() => core.endEpisode(-1), core.EPISODE_MAX_TIME);
    at('o').textContent = [innerWidth, innerHeight, core.EPISODE_MAX_TIME,
        typeof seeds[0], seeds[0] >= 0 && seeds[0] <= 1000000].join();
    setTimeout(() => { WOB_TASK_READY = true }, 100);
};
core.endEpisode = (reward, in_time) => {
    if (core.EP_TIMER === null) return;
    clearTimeout(core.EP_TIMER);
    core.EP_TIMER = null;
    WOB_RAW_REWARD_GLOBAL = reward;
    WOB_REWARD_GLOBAL = in_time ? reward / 2 : reward;
    WOB_DONE_GLOBAL = true;
    WOB_EPISODE_ID++;
    at('reward-last').textContent = reward;
    core.clearTimer();
    core.startEpisode();
    at('o').textContent += '; clicks ' + clicks;
};
core.getUtterance = () => {
    const words = at('query').textContent.replace(/\\s+/g, ' ').trim();
    return ASIS ? words : {utterance: words, fields: {}};
};
onload = core.startEpisode;
</script>"""


def pdf(words):
    """A PDF file of one line."""
    stream = b"BT /F1 18 Tf 20 100 Td (%s) Tj ET" % words
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out = b"%PDF-1.4\n"
    places = []
    for i, text in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (i, text)
    at = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n"
    out += b"".join(b"%010d 00000 n \n" % p for p in places)
    return out + b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % at


def docx(words):
    """A Word file of one paragraph."""
    file = io.BytesIO()
    office = "http://schemas.openxmlformats.org/"
    with zipfile.ZipFile(file, "w") as z:
        z.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{office}package/2006/content-types"><Override '
            'PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-'
            'officedocument.wordprocessingml.document.main+xml"/></Types>',
        )
        z.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{office}package/2006/relationships"><Relationship '
            f'Id="r" Type="{office}officeDocument/2006/relationships/officeDocument" '
            'Target="word/document.xml"/></Relationships>',
        )
        z.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{office}wordprocessingml/2006/main"><w:body><w:p><w:r>'
            f"<w:t>{words}</w:t></w:r></w:p></w:body></w:document>",
        )
    return file.getvalue()


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def handle(self):
        try:
            super().handle()
        except ConnectionError:  # a browser that has ended
            pass

    def login(self):
        """/login/ann is for ann, whose password is "s3 cret@"; /login/token is for nobody."""
        given = self.headers.get("Authorization")
        known = given == "Basic " + base64.b64encode(b"ann:s3 cret@").decode()
        body = b"<!doctype html><title>Login</title><h1>Ask Bob</h1>"
        if known:
            body = b"<!doctype html><title>In</title><p>Hello Ann</p><a href=/login/more>more</a>"
        body = b"" if self.path == "/login/blank" else body
        self.send_response(200 if known else 401)
        if not known:
            kind = "Bearer" if self.path == "/login/token" else "Basic"
            self.send_header("WWW-Authenticate", kind + ' realm="The shop"')
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        port = self.server.server_address[1]
        pages = {
            "/form": FORM,
            "/two": b"<!doctype html><title>Two</title><p>Page 2</p>",
            "/covered": COVERED,
            "/kept": KEPT,
            "/keys": KEYS,
            "/dialog": DIALOG,
            "/shadow": SHADOW,
            "/inner": INNER,
            "/events": EVENTS,
            "/moving": MOVING,
            "/wob/buttons.html": WOB.replace(b"READY;", b"true;").replace(b"ASIS", b"true"),
            "/wob/slow.html": WOB.replace(b"READY;", b"false;").replace(b"ASIS", b"false"),
            "/wob/none.html": DIALOG,
            "/drag": DRAG,
            "/drags": (
                "<!doctype html><title>Drags</title><p style=height:60px draggable=true "
                "ondragstart=event.dataTransfer.setData('text/plain','above')>above</p>"
                "<iframe style=width:300px src=/drag></iframe>"
                f"<iframe style=width:300px src=http://localhost:{port}/drag></iframe>"
            ).encode(),
            "/uploads": UPLOADS,
            "/zone": ZONE,
            "/leaves": b"<!doctype html><title>Leaves</title><button>touch</button><script>"
            b"onbeforeunload=e=>e.preventDefault()</script>",
            "/zones": (
                f"<!doctype html><title>Zones</title><p style=height:900px>above</p>"
                f"<iframe style=width:500px;height:300px src=http://localhost:{port}/zone>"
            ).encode(),
            "/choices": CHOICES,
            "/redrawn": REDRAWN,
            "/tiny": TINY,
            "/chapters": CHAPTERS,
            "/asks": ASKS,
            "/asks?now": ASKS,
            **{
                f"/fetches/{name}/{ms}": FETCHES.replace(b"LATER", b"%d" % ms).replace(
                    b"BEFORE", text
                )
                for ms in (100, 500, 900, 90000)
                for name, text in (("blank", b""), ("loading", b"Loading ..."))
            },
            "/later": LATER,
            "/later?on": LATER,
            "/parts": PARTS,
            "/paper.pdf": pdf(b"Words of a PDF"),
            "/bad.pdf": b"%PDF-1.4 and no more",
            "/paper.docx": docx("Words of Word"),
            "/papers": b"<!doctype html><title>Papers</title><a href=/paper.pdf>paper</a>",
            "/answer": b"the answer",
            "/file": b"some bytes",
            "/filed": b"<!doctype html><title>Filed</title><a href=/file>file</a>",
            "/bytes.dat": b"\x00\x01\x02\xff",
            "/field": b"<!doctype html><title>Field</title><input>",
            "/drawn": b"<!doctype html><title>Drawn</title><p role=status id=o>0</p><script>"
            b"onload=()=>{const f=()=>{if(++o.textContent<4)requestAnimationFrame(f)};"
            b"requestAnimationFrame(f)}</script>",
            "/nested": (
                "<!doctype html><title>Nested</title><p style=height:100px>above</p>"
                f"<iframe style=width:700px;height:500px src=http://localhost:{port}/holder>"
            ).encode(),
            "/holder": (
                "<!doctype html><title>Holder</title><p>in between</p>"
                f"<iframe src=/two></iframe><iframe src=http://127.0.0.1:{port}/inner></iframe>"
                f"<iframe src=http://127.0.0.1:{port}/field></iframe>"
            ).encode(),
            "/frames": (
                "<!doctype html><title>Frames</title><iframe src=/inner></iframe>"
                f"<iframe src=http://localhost:{port}/inner></iframe>"
            ).encode(),
        }
        body = pages.get(self.path)
        if self.path == "/never":
            self.connection.recv(1)
            return
        if self.path == "/answer":
            time.sleep(0.3)
        if self.path == "/broken":
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>Broken</title><p>a part")
            self.close_connection = True
            return
        if self.path == "/endless":
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.close_connection = True
            try:
                self.wfile.write(b"<!doctype html><title>Endless</title><p>Begin</p>")
                while True:
                    self.wfile.write(b"<i>more</i> ")
                    self.wfile.flush()
                    time.sleep(0.2)
            except OSError:  # the reader has left
                return
        if self.path.startswith("/login"):
            self.login()
            return
        if self.path == "/again":
            self.send_response(302)
            self.send_header("Location", "/again")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200 if body else 404)
        if self.path == "/file":
            self.send_header("Content-Disposition", 'attachment; filename="got.bin"')
        office = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
        types = {"pdf": "application/pdf", "docx": office, "dat": "application/octet-stream"}
        self.send_header("Content-Type", types.get(self.path.rpartition(".")[2], "text/html"))
        body = body or b"nothing here"
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
