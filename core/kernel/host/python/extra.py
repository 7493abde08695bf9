# SPDX-License-Identifier: MIT
#
# The embedded kernel: what only some cells need. Run once, by core.extra(), with
# core's names that it uses. In order: errors, results, figures, await, rewriting,
# magics, requests, shims.
import ast
import builtins
import linecache
import os
import re
import sys
import traceback

WIDTH = 75
CONTEXT = 2     # statements before and after the one that failed
PIECE_LINES = 6  # of a statement; a longer one is cut in its middle


# ---- errors

def failure(k, error):
    """The content of an error message for what a cell raised."""
    name, value = type(error).__name__, str(error)
    if k.result:
        name, value = k.result
        return {'ename': name, 'evalue': value, 'traceback': []}
    if isinstance(error, SystemExit):
        sys.stderr.write("To exit: use 'exit', 'quit', or Ctrl-D.\n")
        lines = ['An exception has occurred, use %tb to see the full traceback.\n',
                 'SystemExit: %s\n' % value]
    else:
        k.last_error = error
        sys.last_type, sys.last_value, sys.last_traceback = (type(error), error,
                                                             error.__traceback__)
        try:
            lines = error_lines(k, error)
        except Exception:
            lines = traceback.format_exception(type(error), error, error.__traceback__)
    if isinstance(error, SyntaxError):
        value = '%s (%s, line %s)' % (error.msg, os.path.basename(error.filename or '?'),
                                      error.lineno)
    return {'ename': name, 'evalue': value, 'traceback': lines}


def error_lines(k, error):
    if isinstance(error, SyntaxError) and not frames_of(error):
        return [syntax_text(k, error)]
    chain, seen, e = [], set(), error
    while e is not None and id(e) not in seen:
        seen.add(id(e))
        chain.append(e)
        if e.__cause__ is not None:
            e = e.__cause__
        else:
            e = None if e.__suppress_context__ else e.__context__
    lines = ['-' * WIDTH]
    for i, e in enumerate(reversed(chain)):
        if i:
            cause = e.__cause__ is not None
            lines.append('\n%s:\n' % (
                'The above exception was the direct cause of the following exception' if cause
                else 'During handling of the above exception, another exception occurred'))
        lines += one_error(k, e, CONTEXT if e is error else 1)
    return lines


def one_error(k, error, around):
    name = type(error).__name__
    lines = [name + 'Traceback (most recent call last)'.rjust(WIDTH - len(name))]
    frames, same, repeats = [], None, 0
    for frame, lineno in frames_of(error):
        key = (frame.f_code, lineno)
        repeats = repeats + 1 if key == same else 0
        same = key
        if repeats == 3:
            frames.append([frame.f_code.co_name, lineno, 0])
        if repeats >= 3:
            frames[-1][2] += 1
        else:
            frames.append((frame, lineno))
    for each in frames:
        if isinstance(each, list):
            lines.append('    [... skipping similar frames: %s at line %d (%d times)]\n'
                         % tuple(each))
        else:
            lines.append(frame_text(k, *each, around))
    if isinstance(error, SyntaxError):
        lines.append(syntax_text(k, error))
    else:
        text = ''.join(traceback.format_exception_only(type(error), error)).rstrip('\n')
        module = type(error).__module__ + '.'
        text = text[len(module):] if text.startswith(module + name) else text
        lines.append(text + ': ' if text == name else text)
    return lines


def frames_of(error):
    """Frames and line numbers, the kernel's own left out."""
    found, tb = [], error.__traceback__
    while tb is not None:
        if '<od kernel>' not in tb.tb_frame.f_code.co_filename:
            found.append((tb.tb_frame, tb.tb_lineno))
        tb = tb.tb_next
    while found and '/asyncio/' in found[0][0].f_code.co_filename:
        found.pop(0)  # what ran a cell that awaits
    return found


def frame_text(k, frame, lineno, around):
    code, name = frame.f_code, frame.f_code.co_filename
    cell = k.sources.get(name)
    text = 'Cell In[%d], line %d' % (cell[0], lineno) if cell else 'File %s:%d' % (
        name.replace(os.path.expanduser('~'), '~', 1) if name.startswith(
            os.path.expanduser('~') + '/') else name, lineno)
    if code.co_name != '<module>':
        name = getattr(code, 'co_qualname', code.co_name)
        text += ', in ' + (name.split('.<locals>.')[-1] if cell else name) + arguments(code)
    elif not cell:
        text += ', in <module>'
    source = cell[1] if cell else ''.join(linecache.getlines(name, frame.f_globals))
    return text + '\n' + context(source, code, lineno, around)


def arguments(code):
    names, at = list(code.co_varnames), code.co_argcount + code.co_kwonlyargcount
    args = names[:at]
    if code.co_flags & 4:
        args.append('*' + names[at])
        at += 1
    if code.co_flags & 8:
        args.append('**' + names[at])
    return '(%s)' % ', '.join(args)


def pieces(source):
    """Line ranges of the statements of a source, nested ones by their own."""
    found, lines = [], source.split('\n')

    def last_line(node):
        return max([getattr(n, 'end_lineno', None) or getattr(n, 'lineno', 0)
                    for n in ast.walk(node)] or [0])

    def walk(body):
        for node in body:
            first = min([node.lineno] + [d.lineno for d in getattr(node, 'decorator_list', [])])
            inner = [getattr(node, f) for f in ('body', 'orelse', 'finalbody')
                     if getattr(node, f, None)]
            inner += [h.body for h in getattr(node, 'handlers', [])]
            inner = sorted((i for i in inner if isinstance(i, list)), key=lambda i: i[0].lineno)
            if not inner:
                found.append((first, last_line(node)))
                continue
            for block in inner:
                if block[0].lineno > first:
                    found.append((first, block[0].lineno - 1))
                walk(block)
                first = found[-1][1] + 1
    try:
        walk(ast.parse(source).body)
    except (SyntaxError, ValueError):
        return [(i, i) for i in range(1, len(lines) + 1)]
    covered = set()
    for a, b in found:
        covered.update(range(a, b + 1))
    found += [(i, i) for i in range(1, len(lines) + 1)
              if i not in covered and lines[i - 1].strip()]
    found = [(a, b) for a, b in found if any(t.strip() for t in lines[a - 1:b])]
    return sorted(set(found))


def context(source, code, lineno, around):
    lines, all_pieces = source.split('\n'), pieces(source)
    if not code.co_name.startswith('<'):
        ends = [n for n in ast.walk(parsed(source)) if getattr(n, 'name', '') == code.co_name
                and first_line(n) == code.co_firstlineno]
        if ends:
            last = max(getattr(n, 'end_lineno', None) or getattr(n, 'lineno', 0)
                       for n in ast.walk(ends[0]))
            all_pieces = [p for p in all_pieces if code.co_firstlineno <= p[0] <= last]
    at = [i for i, (a, b) in enumerate(all_pieces) if a <= lineno <= b]
    if not at:
        return ''
    shown = all_pieces[max(0, at[0] - around):at[0] + around + 1]
    texts = [t for a, b in shown for t in lines[a - 1:b] if t.strip()]
    margin = min(len(t) - len(t.lstrip()) for t in texts)
    out = []
    for piece in shown:
        part = numbered(lines, piece, lineno, margin)
        if len(part) > PIECE_LINES and piece != all_pieces[at[0]]:
            part[PIECE_LINES // 2:-(PIECE_LINES // 2 - 1)] = ['   (...)']
        out += part
    return '\n'.join(out) + '\n'


def numbered(lines, piece, lineno, margin):
    out = []
    for i in range(piece[0], piece[1] + 1):
        text = lines[i - 1][margin:] if i <= len(lines) else ''
        mark = '-' * (5 - len(str(i))) + '> ' + str(i) if i == lineno else '%7d' % i
        out.append((mark.rjust(7) + ' ' + text).rstrip() if text else mark.rjust(7) + ' ')
    return out


def parsed(source):
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])


def first_line(node):
    return min([node.lineno] + [d.lineno for d in getattr(node, 'decorator_list', [])])


def syntax_text(k, error):
    cell = k.sources.get(error.filename)
    where = 'Cell In[%d], line %s' % (cell[0], error.lineno) if cell else 'File %s:%s' % (
        error.filename, error.lineno)
    text = '  %s\n' % where
    if error.text:
        line = error.text.rstrip('\n')
        stripped = line.lstrip()
        text += '    %s\n' % stripped
        if error.offset:
            column = max(0, min(error.offset - 1, len(line)) - (len(line) - len(stripped)))
            text += '    %s^\n' % (' ' * column)
    return text + '%s: %s\n' % (type(error).__name__, error.msg)


def to_linecache(name, code):
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)


for _name, (_number, _code) in kernel.sources.items():
    to_linecache(_name, _code)

_check = linecache.checkcache


def _keep_cells(filename=None):
    _check(filename)
    for name, (_, code) in kernel.sources.items():
        linecache.cache.setdefault(name, (len(code), None, code.splitlines(True), name))


linecache.checkcache = _keep_cells


# ---- results

METHODS = [('text/html', '_repr_html_'), ('text/markdown', '_repr_markdown_'),
           ('image/svg+xml', '_repr_svg_'), ('image/png', '_repr_png_'),
           ('image/jpeg', '_repr_jpeg_'), ('text/latex', '_repr_latex_'),
           ('application/json', '_repr_json_'),
           ('application/javascript', '_repr_javascript_'),
           ('application/pdf', '_repr_pdf_')]


class Formatter:
    """One form of values, by their own method or a function for their type: what
    libraries use of IPython's."""
    enabled = True

    def __init__(self, mime='', method='', **_):
        self.format_type, self.print_method, self.functions = mime, method, {}

    def for_type(self, kind, function=None):
        if isinstance(kind, str):
            return self.for_type_by_name(*kind.rsplit('.', 1), function)
        return self.keep(kind, function)

    def for_type_by_name(self, module, name, function=None):
        return self.keep((module, name), function)

    def keep(self, key, function):
        old = self.functions.get(key)
        if function is not None:
            self.functions[key] = function
        return old

    def lookup_or_none(self, value):
        for kind in type(value).__mro__ if self.functions else ():
            for key in kind, (kind.__module__, kind.__name__):
                if key in self.functions:
                    return self.functions[key]
        return None

    def __call__(self, value):
        function = self.lookup_or_none(value)
        if function is not None:
            return function(value)
        method = getattr(value, self.print_method, None)
        return method() if callable(method) else None


FORMATTERS = {mime: Formatter(mime, method) for mime, method in METHODS}


def pretty(value):
    """The text of a value, wrapped where it is long."""
    own = getattr(type(value), '_repr_pretty_', None)
    if own is not None:
        printer = Printer()
        try:
            own(value, printer, False)
            return ''.join(printer.parts)
        except Exception:
            pass
    if isinstance(value, type):
        module = value.__module__
        name = getattr(value, '__qualname__', value.__name__)
        return name if module in (None, '__builtin__', 'builtins', 'exceptions') \
            else module + '.' + name
    if isinstance(value, (type(pretty), type(len))):
        module = getattr(value, '__module__', None)
        name = value.__qualname__ if module in (None, 'builtins') else (
            module + '.' + value.__qualname__)
        return '<function %s%s>' % (name, signature(value))
    if type(value).__repr__ is object.__repr__:
        return '<%s at 0x%x>' % (pretty(type(value)), id(value))
    if getattr(type(value), '__repr__', None) in BRACKETS:
        return wrapped(value, 0, frozenset())
    return repr(value)


BRACKETS = {list.__repr__: '[]', tuple.__repr__: '()', dict.__repr__: '{}', set.__repr__: '{}',
            frozenset.__repr__: ('frozenset({', '})')}
ITEMS = 1000  # of a container, before an ellipsis


def wrapped(value, indent, above):
    """As pretty printers do: all on one line where it fits, with the comma or bracket
    that follows an inner one, else an item a line."""
    kind = getattr(type(value), '__repr__', None)
    if type(value).__name__ == 'defaultdict' and id(value) not in above:
        head = 'defaultdict(%s, ' % pretty(value.default_factory)
        return head + wrapped(dict(value), indent + len(head), above | {id(value)}) + ')'
    if kind not in BRACKETS:
        return pretty(value)
    if not value or id(value) in above:
        return repr(value)
    left, right = BRACKETS[kind]
    above, source = above | {id(value)}, value
    if isinstance(value, (set, frozenset)):
        try:
            source = sorted(value)
        except Exception:
            source = list(value)
    items, n = [], 0
    for item in source:
        n += 1
        if n > ITEMS:
            items.append('...')
        elif isinstance(value, dict):
            key = wrapped(item, indent + 1, above) + ': '
            at = indent + 1 + len(key[key.rfind('\n') + 1:])
            items.append(key + wrapped(value[item], at, above))
        else:
            items.append(wrapped(item, indent + len(left), above))
        if n > ITEMS:
            break
    tail = ',' if isinstance(value, tuple) and len(value) == 1 else ''
    line = left + ', '.join(items) + tail + right
    if indent + len(line) + (len(above) > 1) < 80 and '\n' not in line:
        return line
    return left + (',\n' + ' ' * (indent + len(left))).join(items) + tail + right


class Printer:
    """Of IPython's pretty printer the calls that objects use most."""

    def __init__(self):
        self.parts = []

    def text(self, text):
        self.parts.append(text)

    def breakable(self, sep=' '):
        self.parts.append(sep)

    def pretty(self, value):
        self.parts.append(pretty(value))

    def begin_group(self, indent=0, open=''):
        self.parts.append(open)

    def end_group(self, dedent=0, close=''):
        self.parts.append(close)

    def group(self, indent=0, open='', close=''):
        printer = self

        class Group:
            def __enter__(self):
                printer.text(open)

            def __exit__(self, *_):
                printer.text(close)
        return Group()

    def break_(self):
        self.parts.append('\n')


def base64_of(data):
    import base64
    return base64.b64encode(data).decode('ascii')


def rich(value):
    own = getattr(type(value), '_ipython_display_', None)
    if own is not None:
        own(value)
        return {}, {}
    data, metadata = {}, {}
    if not isinstance(value, type):
        if callable(getattr(value, '_repr_mimebundle_', None)):
            got = value._repr_mimebundle_()
            got, more = got if isinstance(got, tuple) else (got, {})
            data.update(got or {})
            metadata.update(more or {})
        for mime, formatter in FORMATTERS.items():
            call = formatter.lookup_or_none(value)
            if mime in data and call is None:
                continue
            try:
                got = formatter(value)
            except NotImplementedError:
                continue
            except Exception:
                traceback.print_exc()
                continue
            if isinstance(got, tuple) and len(got) == 2 and isinstance(got[1], dict):
                got, metadata[mime] = got
            if got is not None:
                data[mime] = got
        if 'image/png' not in data and type(value).__module__.startswith('matplotlib.figure'):
            data['image/png'] = png_of(value)
        if 'image/png' not in data and type(value).__module__.startswith('PIL.'):
            import io
            memory = io.BytesIO()
            value.save(memory, 'PNG')
            data['image/png'] = memory.getvalue()
    for mime, got in data.items():
        if isinstance(got, (bytes, bytearray)):
            data[mime] = base64_of(got)
    data.setdefault('text/plain', pretty(value))
    return data, metadata


def show(value, options):
    if options.get('raw'):
        data, metadata = dict(value), options.get('metadata') or {}
    elif value is None and 'display_id' in options:
        data, metadata = {'text/plain': 'None'}, {}
    else:
        data, metadata = rich(value)
        metadata.update(options.get('metadata') or {})
    wanted, refused = options.get('include'), options.get('exclude') or ()
    data = {m: v for m, v in data.items()
            if (not wanted or m in wanted) and m not in refused}
    if not data:
        return
    content = {'data': data, 'metadata': metadata, 'transient': {}}
    if options.get('display_id'):
        if options['display_id'] is True:
            options['display_id'] = os.urandom(16).hex()
        content['transient'] = {'display_id': options['display_id']}
    kernel.publish('update_display_data' if options.get('update') else 'display_data', content)


class handle:
    """What display(…, display_id=…) gives: changes what was shown."""

    def __init__(self, display_id):
        self.display_id = display_id

    def display(self, value, **options):
        display(value, display_id=self.display_id, **options)

    def update(self, value, **options):
        display(value, display_id=self.display_id, update=True, **options)

    def __repr__(self):
        return '<DisplayHandle display_id=%s>' % self.display_id


def ends_quietly_before_comment(text):
    import io
    import tokenize
    last = ''
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE,
                                  tokenize.ENDMARKER, tokenize.DEDENT):
                last = token.string
    except (tokenize.TokenError, SyntaxError):
        pass
    return last == ';'


# ---- figures

def png_of(figure):
    import io
    memory = io.BytesIO()
    figure.savefig(memory, format='png', bbox_inches='tight')
    return memory.getvalue()


def figures(k=None):
    """Shows and closes the open figures: at the end of a cell, and for show()."""
    plot = sys.modules.get('matplotlib.pyplot')
    if plot is None or not hasattr(plot, 'get_fignums'):
        return
    try:
        if 'od_inline' not in plot.get_backend():
            return
        for number in plot.get_fignums():
            show(plot.figure(number), {})
    finally:
        plot.close('all')


def inline_backend(module):
    from matplotlib.backends import backend_agg
    for name in dir(backend_agg):
        if not name.startswith('__'):
            setattr(module, name, getattr(backend_agg, name))

    def show_all(*_, **__):
        figures()
    module.show = show_all
    module.FigureCanvas = backend_agg.FigureCanvasAgg
    canvas = type('FigureCanvas', (backend_agg.FigureCanvasAgg,), {})
    manager = getattr(backend_agg.FigureCanvasAgg, 'manager_class', None)
    if isinstance(manager, type):
        canvas.manager_class = type('FigureManager', (manager,), {
            'pyplot_show': classmethod(lambda cls, **__: figures())})
        module.FigureCanvas = canvas


# ---- await

def wait_for(k, value):
    import asyncio
    if k.loop is None or k.loop.is_closed():
        k.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(k.loop)
    task = k.loop.create_task(value)
    try:
        return k.loop.run_until_complete(task)
    except KeyboardInterrupt:
        if not task.done():
            task.cancel()
            k.running = False
            try:
                k.loop.run_until_complete(task)
            except BaseException:
                pass
        raise


def in_loop(k, code, ns):
    """Runs code while the loop runs, as in ipykernel; asyncio.run() would refuse."""
    async def cell():
        return eval(code, ns)
    return wait_for(k, cell())


# ---- rewriting

ASSIGNED = re.compile(r'^(\s*)([\w\s.,\[\]"\']+?)\s*=\s*([%!])(?!=)\s*(.*)$', re.S)
HELP = re.compile(r'^\s*(\?{0,2})\s*([A-Za-z_%][\w.\[\]"\']*)\s*(\?{0,2})\s*$')
PROMPT = re.compile(r'^(>>> |>>>$|In \[\d*\]: ?)')
MORE = re.compile(r'^(\.\.\. ?|\s*\.{3,}: ?)')


def rewrite(k, code):
    """Python for a cell that may be more; None: it was dealt with."""
    lines = code.split('\n')
    while lines and not lines[0].strip():
        lines.pop(0)
    if lines and PROMPT.match(lines[0]):
        lines = [PROMPT.sub('', l) if PROMPT.match(l) else MORE.sub('', l) for l in lines]
    margin = lines[0][:len(lines[0]) - len(lines[0].lstrip())] if lines else ''
    if margin:
        lines = [l[len(margin):] if l.startswith(margin) else l for l in lines]
    code = '\n'.join(lines)
    if code.startswith('%%'):
        return 'get_ipython().run_cell_magic(%r, %r, %r)\n' % split_cell(code)
    out, open_text = [], ''
    i = 0
    while i < len(lines):
        line = lines[i]
        if not open_text and line.strip():
            whole, n = joined(lines, i)
            changed = rewritten(k, whole, len(lines) == 1)
            if changed is not None:
                out.append(changed)
                out += [''] * (n - 1)
                i += n
                continue
        out.append(line)
        open_text = still_open(open_text + line + '\n')
        i += 1
    return '\n'.join(out)


def split_cell(code):
    head, _, body = code.partition('\n')
    name, _, line = head[2:].partition(' ')
    return name, line.strip(), body + '\n' if body and not body.endswith('\n') else body


def joined(lines, i):
    """A line with those that it goes on in, and how many they are."""
    n, text = 1, lines[i]
    if text.lstrip()[:1] in '%!' or ASSIGNED.match(text):
        while text.endswith('\\') and i + n < len(lines):
            text = text[:-1] + lines[i + n]
            n += 1
    return text, n


def rewritten(k, line, alone):
    margin = line[:len(line) - len(line.lstrip())]
    text = line.strip()
    if text.startswith('!!'):
        return '%sget_ipython().getoutput(%r)' % (margin, text[2:])
    if text.startswith('!'):
        return '%sget_ipython().system(%r)' % (margin, text[1:])
    if text.startswith('%') and not text.startswith('%%'):
        if text.endswith('?') and HELP.match(text):
            return help_for(margin, text)
        name, _, rest = text[1:].lstrip().partition(' ')
        return '%sget_ipython().run_line_magic(%r, %r)' % (margin, name, rest.strip())
    m = ASSIGNED.match(line)
    if m:
        what = m.group(4).strip()
        if m.group(3) == '!':
            return '%s%s = get_ipython().getoutput(%r)' % (m.group(1), m.group(2), what)
        name, _, rest = what.partition(' ')
        if not is_python(line):
            return '%s%s = get_ipython().run_line_magic(%r, %r)' % (
                m.group(1), m.group(2), name, rest.strip())
    if (text.startswith('?') or text.endswith('?')) and HELP.match(text):
        return help_for(margin, text)
    if alone and needs_rewriting(text.split(None, 1)[0], k.ns):
        first, _, rest = text.partition(' ')
        if not rest.lstrip().startswith(('=', '(', '.', ',')) and first in MAGICS:
            return 'get_ipython().run_line_magic(%r, %r)' % (first, rest.strip())
    return None


def help_for(margin, text):
    m = HELP.match(text)
    marks = m.group(1) or m.group(3)
    return '%sget_ipython().show_help(%r, %d)' % (margin, m.group(2), len(marks))


def is_python(text):
    try:
        compile(text.strip(), '<line>', 'exec')
        return True
    except (SyntaxError, ValueError):
        return False


TOKEN = re.compile(r'''[rRbBuUfF]{0,2}("""|\'\'\'|"|')|[()\[\]{}]|\#.*|\\\n''')


def still_open(text):
    """text if a string or bracket of it goes on in the next line, else ''."""
    depth, at = 0, 0
    while True:
        m = TOKEN.search(text, at)
        if not m:
            break
        at, what = m.end(), m.group(0)
        if m.group(1):
            raw, quote = what[:-len(m.group(1))], m.group(1)
            del raw
            end = re.compile(r'(?:[^\\]|\\.)*?' + re.escape(quote), re.S).match(text, at)
            if not end:
                return text if len(quote) == 3 else ''
            if len(quote) == 1 and '\n' in end.group(0).replace('\\\n', ''):
                return ''
            at = end.end()
        elif what in '([{':
            depth += 1
        elif what in ')]}':
            depth -= 1
    return text if depth > 0 or text.endswith('\\\n') else ''


# ---- magics

class UsageError(Exception):
    """A magic was used in a wrong way."""


MAGICS, CELL_MAGICS = {}, {}


def magic(*names):
    def add(function):
        for name in names:
            MAGICS[name] = function
        return function
    return add


def cell_magic(*names):
    def add(function):
        for name in names:
            CELL_MAGICS[name] = function
        return function
    return add


class Lines(list):
    """What x = !command gives: a list, and the text in other forms."""
    l = list = property(lambda self: self)
    n = nlstr = property('\n'.join)
    s = spstr = property(' '.join)

    def grep(self, pattern, prune=False):
        test = pattern if callable(pattern) else re.compile(pattern, re.I).search
        return Lines(x for x in self if bool(test(x)) != prune)

    def fields(self, *numbers):
        rows = [x.split() for x in self]
        if not numbers:
            return rows
        return Lines(' '.join(r[i] for i in numbers if -len(r) <= i < len(r)) for r in rows)


class Shell:
    """get_ipython(): of IPython's shell what cells and libraries use."""
    instance = None

    def __new__(cls):
        if cls.instance is None:
            cls.instance = object.__new__(cls)
        return cls.instance

    user_ns = property(lambda self: kernel.ns)
    user_global_ns = user_ns
    execution_count = property(lambda self: kernel.count + 1)
    kernel = None
    colors = 'NoColor'

    def run_line_magic(self, name, line):
        if name in MAGICS:
            return MAGICS[name](expanded(line) if name not in RAW else line)
        if name in CELL_MAGICS:
            usage('Line magic function `%%%s` not found (But cell magic `%%%%%s` exists, did '
                  'you mean that instead?).' % (name, name))
        usage('Line magic function `%%%s` not found.' % name)

    magic = lambda self, text: self.run_line_magic(*(text.split(' ', 1) + [''])[:2])

    def run_cell_magic(self, name, line, cell):
        if name not in CELL_MAGICS:
            if name in MAGICS:
                usage('Cell magic `%%%%%s` not found (But line magic `%%%s` exists, did you '
                      'mean that instead?).' % (name, name))
            usage('Cell magic `%%%%%s` not found.' % name)
        return CELL_MAGICS[name](line, cell)

    def system(self, command):
        kernel.ns['_exit_code'] = in_terminal(expanded(command))

    def getoutput(self, command, split=True):
        import subprocess
        p = subprocess.run(expanded(command), shell=True, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        text = p.stdout.decode('utf-8', 'replace')
        return Lines(text.splitlines()) if split else text

    def show_help(self, name, marks):
        if not lookup(name)[0]:
            print('Object `%s` not found.' % name)
            return
        kernel.payload.append({'source': 'page', 'start': 0,
                               'data': {'text/plain': described(name, marks > 1)}})

    def run_cell(self, code, **_):
        return kernel.run_code(code)

    def ev(self, text):
        return eval(text, kernel.ns)

    def push(self, names):
        kernel.ns.update(names)

    def set_next_input(self, text, replace=False):
        kernel.payload.append({'source': 'set_next_input', 'text': text, 'replace': replace})

    def register_magic_function(self, function, magic_kind='line', magic_name=None):
        table = CELL_MAGICS if magic_kind == 'cell' else MAGICS
        table[magic_name or function.__name__] = function

    class events:
        register = unregister = staticmethod(lambda *_: None)

    class display_formatter:
        formatters = FORMATTERS

    def enable_gui(self, *_):
        pass

    def showtraceback(self, *_, **__):
        kernel.publish('error', failure(kernel, sys.exc_info()[1]))


def usage(text):
    sys.stderr.write('UsageError: %s\n' % text)
    kernel.result = ('UsageError', text)
    raise UsageError(text)


VARIABLE = re.compile(r'\$\$|\$([A-Za-z_]\w*)|\{([^{}\n]+)\}')


def expanded(text):
    """$name and {expression} of the cell's own names."""
    def one(m):
        if m.group(0) == '$$':
            return '$'
        if m.group(1):
            return str(kernel.ns[m.group(1)]) if m.group(1) in kernel.ns else m.group(0)
        try:
            return str(eval(m.group(2), kernel.ns))
        except Exception:
            return m.group(0)
    return VARIABLE.sub(one, text)


def in_terminal(command):
    """Runs a command on a terminal of its own and passes on what it says."""
    shell = '/bin/sh'
    try:
        master, slave = os.openpty()
    except OSError:
        return in_pipe(command)
    import fcntl
    import struct
    import termios
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(slave, fd)
            os.closerange(3, 256)
            os.execv(shell, [shell, '-c', command])
        finally:
            os._exit(127)
    os.close(slave)
    import codecs
    decode = codecs.getincrementaldecoder('utf-8')('replace').decode
    while True:
        try:
            try:
                data = os.read(master, 65536)
            except KeyboardInterrupt:
                os.write(master, b'\x03')
                continue
            except OSError:
                break
            if not data:
                break
            sys.stdout.write(decode(data))
        except KeyboardInterrupt:
            os.write(master, b'\x03')
    sys.stdout.flush()
    os.close(master)
    return ended(os.waitpid(pid, 0)[1])


def ended(status):
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def in_pipe(command):
    import subprocess
    p = subprocess.Popen(command, shell=True, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for line in p.stdout:
        sys.stdout.write(line.decode('utf-8', 'replace').replace('\n', '\r\n'))
    return p.wait()


def run_program(argv, data, check=True):
    """Runs a program with data as its input; its two outputs stay apart."""
    import subprocess
    import threading
    p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)

    def copy(source, to):
        for line in source:
            to.write(line.decode('utf-8', 'replace'))
    threads = [threading.Thread(target=copy, args=a, daemon=True)
               for a in ((p.stdout, sys.stdout), (p.stderr, sys.stderr))]
    for t in threads:
        t.start()
    try:
        try:
            p.stdin.write(data.encode('utf-8', 'surrogateescape'))
            p.stdin.close()
        except BrokenPipeError:
            pass
        p.wait()
    except KeyboardInterrupt:
        p.send_signal(2)
        p.wait()
        raise
    for t in threads:
        t.join()
    if check and p.returncode:
        raise subprocess.CalledProcessError(p.returncode, data.encode())
    return p.returncode


@magic('pwd')
def _pwd(line):
    return os.getcwd()


@magic('cd')
def _cd(line):
    quiet, line = line.startswith('-q'), line[2:].strip() if line.startswith('-q') else line
    target = line.strip().strip('"\'') or '~'
    if target == '-':
        target = kernel.ns.get('_dh', ['', ''])[-2] if len(kernel.ns.get('_dh', [])) > 1 else '.'
    history = kernel.ns.setdefault('_dh', [os.getcwd()])
    try:
        os.chdir(os.path.expanduser(target))
    except OSError as e:
        print('[Errno %d] %s: %r' % (e.errno, e.strerror, target))
        return
    history.append(os.getcwd())
    if not quiet:
        print(os.getcwd())


@magic('env', 'set_env')
def _env(line):
    line = line.strip()
    if not line:
        return dict(os.environ)
    if '=' not in line and ' ' not in line:
        if line in os.environ:
            return os.environ[line]
        usage("Environment does not have key: %s" % line)
    name, _, value = line.partition('=' if '=' in line else ' ')
    os.environ[name.strip()] = value.strip()
    print('env: %s=%s' % (name.strip(), value.strip()))


def timed(run):
    import resource
    import time

    def cpu():
        r = resource.getrusage(resource.RUSAGE_SELF)
        return r.ru_utime, r.ru_stime
    wall, (user, system) = time.time(), cpu()
    value = run()
    u, s = cpu()
    wall = time.time() - wall
    u, s = u - user, s - system
    print('CPU times: user %s, sys: %s, total: %s\nWall time: %s' % (
        span(u), span(s), span(u + s), span(wall)))
    return value


def span(seconds, precision=3):
    if seconds >= 60:
        parts = []
        for unit, size in (('d', 86400), ('h', 3600), ('min', 60), ('s', 1)):
            if seconds >= size:
                parts.append('%d%s' % (seconds // size, unit))
                seconds %= size
        return ' '.join(parts)
    for unit, scale in (('s', 1), ('ms', 1e3), ('µs', 1e6), ('ns', 1e9)):
        if seconds * scale >= 1:
            return '%.*g %s' % (precision, seconds * scale, unit)
    return '%.*g ns' % (precision, seconds * 1e9)


@magic('time')
def _time(line):
    if not line:
        return None
    if not is_python(line):
        line = rewrite(kernel, line)
    return timed(lambda: kernel.run_source(line, '<timed>', kernel.ns, quiet=True))


@cell_magic('time')
def _time_cell(line, cell):
    return timed(lambda: kernel.run_source(rewrite(kernel, cell), '<timed>', kernel.ns,
                                           quiet=True))


def options(line, letters):
    import getopt
    import shlex
    rest, found = line, {}
    while True:
        rest = rest.lstrip()
        m = re.match(r'-([A-Za-z])', rest)
        if not m or m.group(1) not in letters:
            return found, rest
        rest = rest[2:]
        if letters[letters.index(m.group(1)) + 1:][:1] == ':':
            value, _, rest = rest.lstrip().partition(' ')
            found[m.group(1)] = value
        else:
            found[m.group(1)] = True


@magic('timeit')
def _timeit(line, setup='pass'):
    import timeit
    flags, code = options(line, 'n:r:tcp:qo')
    timer = timeit.Timer(code, setup, globals=kernel.ns)
    number, repeat = int(flags.get('n', 0)), int(flags.get('r', 7))
    if not number:
        for power in range(10):
            number = 10 ** power
            if timer.timeit(number) >= 0.2:
                break
    runs = [t / number for t in timer.repeat(repeat, number)]
    mean = sum(runs) / len(runs)
    deviation = (sum((t - mean) ** 2 for t in runs) / len(runs)) ** 0.5
    if 'q' not in flags:
        print('%s ± %s per loop (mean ± std. dev. of %d run%s, %s loop%s each)' % (
            span(mean), span(deviation) if deviation else '0 ns', repeat,
            '' if repeat == 1 else 's', '{:,}'.format(number), '' if number == 1 else 's'))


@cell_magic('timeit')
def _timeit_cell(line, cell):
    flags, setup = options(line, 'n:r:tcp:qo')
    return _timeit(' '.join('-%s%s' % (k, '' if v is True else v) for k, v in flags.items()) +
                   ' ' + cell, setup or 'pass')


@cell_magic('bash', 'sh')
def _bash(line, cell):
    name = 'bash'
    for folder in os.get_exec_path():
        if os.access(folder + '/bash', os.X_OK):
            break
    else:
        name = 'sh'
    run_program([name], cell, '--no-raise-error' not in line)


@cell_magic('python', 'python3')
def _python(line, cell):
    run_program([sys.executable, '-'], cell)


@cell_magic('script')
def _script(line, cell):
    import shlex
    run_program(shlex.split(line), cell)


@cell_magic('writefile', 'file')
def _writefile(line, cell):
    append = line.startswith('-a ')
    name = os.path.expanduser((line[3:] if append else line).strip().strip('"\''))
    if not name:
        usage('%%writefile: the following arguments are required: filename')
    there = os.path.exists(name)
    with open(name, 'a' if append else 'w', encoding='utf-8') as f:
        f.write(cell)
    print('%s %s' % ('Appending to' if append and there else
                     'Overwriting' if there else 'Writing', name))


def shown_as(mime):
    def run(line, cell):
        show({mime: cell, 'text/plain': '<%s object>' % mime}, {'raw': True})
    return run


for _mime, _names in (('text/html', ('html', 'HTML')), ('text/markdown', ('markdown',)),
                      ('text/latex', ('latex',)), ('image/svg+xml', ('svg', 'SVG')),
                      ('application/javascript', ('javascript', 'js'))):
    cell_magic(*_names)(shown_as(_mime))


@cell_magic('capture')
def _capture(line, cell):
    import io
    name = line.split()[-1] if line.split() and not line.split()[-1].startswith('-') else None
    old, texts = (sys.stdout, sys.stderr), (io.StringIO(), io.StringIO())
    sys.stdout, sys.stderr = texts
    publish, shown = kernel.publish, []
    kernel.publish = lambda kind, content, metadata=None: shown.append(content)
    try:
        kernel.run_source(rewrite(kernel, cell), '<captured>', kernel.ns)
    finally:
        sys.stdout, sys.stderr = old
        kernel.publish = publish
    if name:
        kernel.ns[name] = Captured(texts[0].getvalue(), texts[1].getvalue(), shown)


class Captured:
    def __init__(self, stdout, stderr, outputs):
        self.stdout, self.stderr, self.outputs = stdout, stderr, outputs

    def __str__(self):
        return self.stdout

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for content in self.outputs:
            kernel.publish('display_data', dict(content, transient={}))

    __call__ = show


def installed_by(*argv):
    in_terminal(' '.join(map(quoted_word, argv[:-1])) + ' ' + argv[-1])
    import importlib
    importlib.invalidate_caches()
    print('Note: you may need to restart the kernel to use updated packages.')


def quoted_word(word):
    import shlex
    return shlex.quote(word)


@magic('pip')
def _pip(line):
    installed_by(sys.executable, '-m', 'pip', line)


@magic('conda', 'mamba', 'micromamba')
def _conda(line):
    installed_by('conda', line)


@magic('run')
def _run(line):
    import runpy
    import shlex
    words = shlex.split(line)
    while words and words[0].startswith('-'):
        words.pop(0)
    if not words:
        usage('you must provide at least a filename.')
    name = words[0] if os.path.exists(words[0]) or words[0].endswith('.py') else words[0] + '.py'
    if not os.path.exists(name):
        sys.stderr.write('Exception: File `%r` not found.\n' % words[0])
        kernel.result = ('Exception', 'File `%r` not found.' % words[0])
        raise OSError(name)
    old = sys.argv
    sys.argv = [name] + words[1:]
    try:
        names = runpy.run_path(name, run_name='__main__')
    finally:
        sys.argv = old
        sys.modules['__main__'].__dict__.update({})
    kernel.ns.update((k, v) for k, v in names.items() if not k.startswith('__'))


def own_names():
    return sorted(n for n, v in kernel.ns.items() if not n.startswith('_') and
                  n not in kernel.own)


@magic('who')
def _who(line):
    kinds = line.split()
    found = [n for n in own_names() if not kinds or type(kernel.ns[n]).__name__ in kinds]
    print('\t '.join(found) + '\t ' if found else 'Interactive namespace is empty.')


@magic('who_ls')
def _who_ls(line):
    kinds = line.split()
    return [n for n in own_names() if not kinds or type(kernel.ns[n]).__name__ in kinds]


@magic('whos')
def _whos(line):
    rows = [(n, type(kernel.ns[n]).__name__, about(kernel.ns[n])) for n in own_names()]
    if not rows:
        print('Interactive namespace is empty.')
        return
    a = max(8, max(len(r[0]) for r in rows)) + 3
    b = max(4, max(len(r[1]) for r in rows)) + 3
    print('Variable'.ljust(a - 1) + ' Type'.ljust(b + 1) + 'Data/Info')
    print('-' * (a + b + 9))
    for name, kind, info in rows:
        print(name.ljust(a) + kind.ljust(b) + info)


def about(value):
    if isinstance(value, (dict, list, tuple, set)):
        return 'n=%d' % len(value)
    if isinstance(value, type(os)):
        return repr(value)
    text = str(value).replace('\n', '\\n')
    return text if len(text) < 50 else text[:20] + '<...>' + text[-20:]


@magic('reset')
def _reset(line):
    if '-f' not in line and kernel.allow_stdin:
        answer = kernel.input('Once deleted, variables cannot be recovered. Proceed (y/[n])? ')
        if answer.lower() not in ('y', 'yes'):
            print('Nothing done.')
            return
    for name in [n for n in kernel.ns if n not in kernel.own and not n.startswith('__')]:
        del kernel.ns[name]
    kernel.outputs.clear()


@magic('history', 'hist')
def _history(line):
    for text in kernel.inputs[1:]:
        print(text)


@magic('lsmagic')
def _lsmagic(line):
    print('Available line magics:\n%s\n\nAvailable cell magics:\n%s' % (
        '  '.join('%' + n for n in sorted(MAGICS)),
        '  '.join('%%' + n for n in sorted(CELL_MAGICS))))


@magic('tb')
def _tb(line):
    error = getattr(kernel, 'last_error', None)
    if error is None:
        print('No traceback available to show.')
    else:
        print('\n'.join(error_lines(kernel, error)))


@magic('matplotlib')
def _matplotlib(line):
    if line.strip() not in ('', 'inline', 'agg', '--list'):
        usage('there is no screen for the backend %s: figures are shown inline' % line.strip())


@magic('load_ext', 'reload_ext')
def _load_ext(line):
    import importlib
    if line.strip() == 'autoreload':
        return
    try:
        module = importlib.import_module(line.strip())
    except ImportError:
        print('The %s module is not an IPython extension.' % line.strip())
        return
    if hasattr(module, 'load_ipython_extension'):
        module.load_ipython_extension(Shell())


@magic('precision')
def _precision(line):
    return line or '%r'


@magic('colors', 'config', 'autoreload', 'xmode', 'unload_ext', 'gui', 'pylab', 'pprint',
       'automagic', 'alias', 'autocall', 'autoindent', 'doctest_mode')
def _nothing(line):
    return None


@magic('debug', 'pdb', 'edit')
def _unsupported(line):
    usage('a debugger or an editor would need a terminal: not here')


@magic('load')
def _load(line):
    with open(os.path.expanduser(line.strip()), encoding='utf-8') as f:
        Shell().set_next_input('# %%load %s\n%s' % (line.strip(), f.read()), True)


@magic('system', 'sx', 'sc')
def _system(line):
    return Shell().getoutput(line)


def command_magic(name, command):
    def run(line):
        kernel.ns['_exit_code'] = in_terminal(command + ' ' + line)
    MAGICS[name] = run


for _name, _command in (('ls', 'ls -F --color'), ('ll', 'ls -F -o --color'), ('mkdir', 'mkdir'),
                        ('rm', 'rm'), ('rmdir', 'rmdir'), ('cp', 'cp'), ('mv', 'mv'),
                        ('cat', 'cat')):
    command_magic(_name, _command)

RAW = ('time', 'timeit')


# ---- requests other than cells

def expression(k, text):
    try:
        data, metadata = rich(eval(text, k.ns))
        return {'status': 'ok', 'data': data, 'metadata': metadata}
    except BaseException as error:
        return {'status': 'error', 'ename': type(error).__name__, 'evalue': str(error),
                'traceback': []}


def answer(k, kind, content):
    function = {'complete_request': complete, 'inspect_request': inspect_name,
                'is_complete_request': is_complete, 'history_request': history,
                'comm_info_request': lambda k, c: {'status': 'ok', 'comms': {}},
                'interrupt_request': lambda k, c: {'status': 'ok'}}.get(kind)
    if function is None:
        return None
    try:
        return function(k, content)
    except Exception as error:
        return {'status': 'error', 'ename': type(error).__name__, 'evalue': str(error),
                'traceback': []}


def complete(k, content):
    code = content.get('code', '')
    at = content.get('cursor_pos', len(code))
    text = re.search(r'[\w.%]*$', code[:at]).group(0)
    start, found = at - len(text), []
    if text.startswith('%'):
        found = ['%' + n for n in MAGICS if n.startswith(text.lstrip('%'))]
        found += ['%%' + n for n in CELL_MAGICS if n.startswith(text.lstrip('%'))]
    elif re.match(r'\s*(from|import)\s', code[:at].rsplit('\n', 1)[-1]) and '.' not in text:
        import pkgutil
        found = sorted({m.name for m in pkgutil.iter_modules() if m.name.startswith(text)} |
                       {n for n in sys.builtin_module_names if n.startswith(text)})
    else:
        import rlcompleter
        completer = rlcompleter.Completer(k.ns)
        i, seen = 0, set()
        while i < 2000:
            each = completer.complete(text, i)
            if each is None:
                break
            i += 1
            each = each.rstrip('( ')
            if each.startswith(text) and each not in seen:
                seen.add(each)
                found.append(each)
        if not found:
            found, start = paths(code, at)
    return {'status': 'ok', 'matches': found, 'cursor_start': start, 'cursor_end': at,
            'metadata': {}}


def paths(code, at):
    import glob
    text = re.search(r'''[^\s"'=]*$''', code[:at]).group(0)
    if not text:
        return [], at
    found = sorted(glob.glob(glob.escape(os.path.expanduser(text)) + '*'))[:1000]
    return [f + '/' if os.path.isdir(f) else f for f in found], at - len(text)


def inspect_name(k, content):
    code = content.get('code', '')
    at = content.get('cursor_pos', len(code))
    before = re.search(r'[A-Za-z_][\w.]*$', code[:at])
    name = (before.group(0) if before else '') + re.match(r'\w*', code[at:]).group(0)
    if not before:
        call = re.search(r'([A-Za-z_][\w.]*)\([^()]*$', code[:at])
        name = call.group(1) if call else name
    found = name and lookup(name)[0]
    data = {'text/plain': described(name, content.get('detail_level', 0) > 0)} if found else {}
    return {'status': 'ok', 'found': bool(found), 'data': data, 'metadata': {}}


def lookup(name):
    if name.startswith('%'):
        plain = name.lstrip('%')
        return plain in MAGICS or plain in CELL_MAGICS, MAGICS.get(plain, CELL_MAGICS.get(plain))
    parts = name.split('.')
    space = kernel.ns if parts[0] in kernel.ns else vars(builtins)
    if parts[0] not in space:
        return False, None
    value = space[parts[0]]
    for part in parts[1:]:
        if not hasattr(value, part):
            return False, None
        value = getattr(value, part)
    return True, value


def signature(value):
    import inspect
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return '()'


def described(name, with_source):
    import inspect
    found, value = lookup(name)
    if not found:
        return 'Object `%s` not found.' % name
    rows = []
    if callable(value) and not isinstance(value, type):
        rows.append('Signature: %s%s' % (name, signature(value)))
    elif isinstance(value, type):
        rows.append('Init signature: %s%s' % (name, signature(value)))
    else:
        rows += ['Type:        %s' % type(value).__name__, 'String form: %s' % value]
        if hasattr(value, '__len__') and not isinstance(value, type(os)):
            rows.append('Length:      %d' % len(value))
    source = None
    if with_source:
        try:
            source = inspect.getsource(value)
        except (OSError, TypeError):
            pass
    if source:
        rows.append('Source:\n%s' % source.rstrip('\n'))
    else:
        text = inspect.getdoc(value)
        rows.append('Docstring:\n%s' % text if text and '\n' in text else
                    'Docstring: %s' % (text or '<no docstring>'))
    try:
        rows.append('File:      %s' % inspect.getsourcefile(value))
    except TypeError:
        pass
    rows.append('Type:      %s' % type(value).__name__)
    return '\n'.join(rows)


def is_complete(k, content):
    import codeop
    code = content.get('code', '')
    try:
        if needs_rewriting(code or ' ', k.ns) and code.strip():
            code = rewrite(k, code)
        done = codeop.compile_command(code, '<input>', 'exec')
    except (SyntaxError, OverflowError, ValueError):
        return {'status': 'invalid'}
    lines = code.split('\n')
    nested = len(lines) > 1 and lines[-1].startswith((' ', '\t'))
    if done is not None and not nested:
        return {'status': 'complete'}
    last = lines[-1]
    indent = last[:len(last) - len(last.lstrip())] + ('    ' if last.endswith(':') else '')
    return {'status': 'incomplete', 'indent': indent}


def history(k, content):
    rows = [[0, i, text] for i, text in enumerate(k.inputs) if i]
    kind = content.get('hist_access_type', 'tail')
    if kind == 'search':
        import fnmatch
        rows = [r for r in rows if fnmatch.fnmatch(r[2], content.get('pattern') or '*')]
    if kind == 'range' and content.get('session', 0) == 0:
        rows = [r for r in rows if (content.get('start') or 0) <= r[1] <
                (content.get('stop') or len(k.inputs))]
    elif content.get('n'):
        rows = rows[-content['n']:]
    if content.get('output'):
        rows = [[s, i, [t, pretty(k.outputs[i]) if i in k.outputs else None]]
                for s, i, t in rows]
    return {'status': 'ok', 'history': rows}


# ---- shims

class Displayed:
    """IPython.display's HTML, Markdown, Image …: data with a type."""
    mime = 'text/plain'

    def __init__(self, data=None, url=None, filename=None, metadata=None, **options):
        if filename is None and isinstance(data, str) and self.binary and os.path.exists(data):
            data, filename = None, data
        if filename is not None:
            with open(filename, 'rb' if self.binary else 'r') as f:
                data = f.read()
        self.data, self.url, self.metadata, self.options = data, url, metadata or {}, options

    binary = False

    def _repr_mimebundle_(self, include=None, exclude=None):
        data = self.data
        if self.url and data is None:
            return {'text/html': '<img src="%s"/>' % self.url}
        mime = self.mime
        if isinstance(data, bytes):
            mime = 'image/jpeg' if data[:2] == b'\xff\xd8' else \
                'image/gif' if data[:4] == b'GIF8' else mime
            data = base64_of(data)
        return {mime: data, 'text/plain': repr(self)}, (
            {mime: self.metadata} if self.metadata else {})

    def __repr__(self):
        return '<IPython.core.display.%s object>' % type(self).__name__


def clear_output(wait=False):
    kernel.publish('clear_output', {'wait': bool(wait)})


def display_module(module):
    for name, mime, binary in (
            ('HTML', 'text/html', False), ('Markdown', 'text/markdown', False),
            ('Latex', 'text/latex', False), ('Math', 'text/latex', False),
            ('SVG', 'image/svg+xml', False), ('JSON', 'application/json', False),
            ('Javascript', 'application/javascript', False), ('Image', 'image/png', True),
            ('Pretty', 'text/plain', False), ('DisplayObject', 'text/plain', False),
            ('TextDisplayObject', 'text/plain', False)):
        setattr(module, name, type(name, (Displayed,), {'mime': mime, 'binary': binary}))
    module.display, module.clear_output, module.DisplayHandle = display, clear_output, handle

    def update_display(value, display_id, **options):
        display(value, display_id=display_id, update=True, **options)
    module.update_display = update_display

    def publish_display_data(data, metadata=None, **options):
        display(data, raw=True, metadata=metadata, **options)
    module.publish_display_data = publish_display_data
    for kind, mime in (('html', 'text/html'), ('markdown', 'text/markdown'),
                       ('png', 'image/png'), ('latex', 'text/latex'), ('json',
                                                                      'application/json')):
        setattr(module, 'display_' + kind, lambda *values, mime=mime, raw=False, **_: [
            display({mime: v}, raw=True) if raw else display(v, include=[mime])
            for v in values])


def real_folders(name, path=None):
    """Of the installed IPython, for its other modules."""
    from importlib.machinery import PathFinder
    spec = PathFinder.find_spec(name, path)
    return list(spec.submodule_search_locations or []) if spec else []


def ipython_module(module):
    module.__path__ = real_folders('IPython')
    module.version_info, module.__version__ = (8, 5, 0), '8.5.0'
    module.get_ipython = builtins.get_ipython


def core_module(module):
    module.__path__ = real_folders('IPython.core', sys.modules['IPython'].__path__)


def magic_module(module):
    def same(argument=None):
        return argument if callable(argument) else (lambda function: function)

    def add(table):
        def named(argument=None):
            def keep(function, name=None):
                table[name or function.__name__] = function
                return function
            return keep(argument) if callable(argument) else (
                lambda function: keep(function, argument))
        return named
    module.register_line_magic, module.register_cell_magic = add(MAGICS), add(CELL_MAGICS)
    module.magics_class = module.line_magic = module.cell_magic = same
    module.Magics = object


def pylabtools_module(module):
    module.backend2gui = {}  # matplotlib asks which loop is to be run: none


def getipython_module(module):
    module.get_ipython = builtins.get_ipython


SHIMS = {'od_inline': inline_backend, 'IPython': ipython_module, 'IPython.core': core_module,
         'IPython.display': display_module, 'IPython.core.display': display_module,
         'IPython.core.pylabtools': pylabtools_module, 'IPython.core.magic': magic_module,
         'IPython.core.getipython': getipython_module}


def shim(name):
    from importlib.machinery import ModuleSpec
    if name not in SHIMS:
        return None

    class Loader:
        @staticmethod
        def create_module(spec):
            return None

        @staticmethod
        def exec_module(module):
            if name == 'IPython.core.display':
                import IPython.display as same
                module.__dict__.update((k, v) for k, v in vars(same).items()
                                       if not k.startswith('__'))
            else:
                SHIMS[name](module)
            if '.' in name:
                above, _, last = name.rpartition('.')
                setattr(sys.modules[above], last, module)
    return ModuleSpec(name, Loader, is_package=name in ('IPython', 'IPython.core'))


def getpass(prompt='Password: ', stream=None):
    return kernel.input(prompt, True)


def _patch_getpass():
    try:
        import getpass as module
        module.getpass = getpass
    except ImportError:
        pass


_patch_getpass()
