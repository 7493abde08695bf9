# SPDX-License-Identifier: MIT
#
# What a Python kernel of the code interpreter displays in addition: the data of a DataFrame as
# e2b/data, the charts of a figure as e2b/chart, lists and dictionaries as application/json, and
# pictures that are saved. The kernel runs this whenever it starts, with CHARTS, the source of
# charts.py, which is compiled for the first figure. No package is imported here: a formatter
# waits for its type, by name.
#
# It is run with globals of its own, so the names here are not among the user's.
import sys


def plain(value, depth=0):
    """JSON of a value, also with objects of numpy and pandas; TypeError if it has none."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if value - value == 0 else None
    if depth > 32:
        raise TypeError('too deep')
    if isinstance(value, dict):
        if not all(isinstance(k, str) for k in value):
            raise TypeError('a name is not a string')
        return {str(k): plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v, depth + 1) for v in value]
    if hasattr(value, 'isoformat'):
        return value.isoformat() if value == value else None
    if type(value).__module__.split('.')[0] in ('numpy', 'pandas'):
        if hasattr(value, 'tolist'):
            return plain(value.tolist(), depth + 1)
        if value is getattr(sys.modules.get('pandas'), 'NA', ...):
            return None
    raise TypeError('no JSON of a %s' % type(value).__name__)


def json_of(value):
    try:
        return plain(value)
    except (TypeError, ValueError, RecursionError):
        return None


def data_of(frame):
    """The columns of a DataFrame with their values."""
    result = {}
    for at, name in enumerate(frame.columns):
        values = result[str(name)] = []
        for each in frame.iloc[:, at].tolist():
            try:
                values.append(plain(each))
            except (TypeError, ValueError):
                values.append(str(each))
    return result


def chart_of(figure, have={}):
    """The chart of a figure; {} if it has none, or an unknown one."""
    try:
        if not have:
            exec(compile(CHARTS, '<charts>', 'exec'), have)  # noqa: F821
        return plain(have['chart_of_figure'](figure)) or {}
    except Exception:
        return {}


def register(shell):
    formatters = shell.display_formatter.formatters
    for mime, method in (('e2b/data', '_repr_e2b_data_'), ('e2b/chart', '_repr_e2b_chart_')):
        made = formatters[mime] = type(formatters['text/html'])()
        made.format_type, made.print_method = mime, method
        made._return_type = (dict, list, str)
        # The backend for inline figures takes the functions for figures out of all forms.
        made.pop = lambda *_: None
    formatters['e2b/data'].for_type_by_name('pandas.core.frame', 'DataFrame', data_of)
    formatters['e2b/chart'].for_type_by_name('matplotlib.figure', 'Figure', chart_of)
    for kind in (dict, list):
        formatters['application/json'].for_type(kind, json_of)


class Pictures:
    """Changes PIL.Image when it is imported: save() also displays, show() does nothing."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != 'PIL.Image':
            return None
        from importlib.machinery import PathFinder
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        sys.meta_path.remove(cls)
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            change(module.Image)
        spec.loader.exec_module = exec_module
        return spec


def change(image):
    save = image.save

    def save_and_show(self, fp, *args, **options):
        result = save(self, fp, *args, **options)
        if isinstance(fp, str) or hasattr(fp, '__fspath__'):
            from IPython.display import display
            display(self)
        return result
    image.save = save_and_show
    image.show = lambda self, *args, **options: None


def begin():
    shell = get_ipython()  # noqa: F821: IPython's, or the embedded kernel's
    try:
        shell.run_line_magic('colors', 'nocolor')
    except Exception:
        pass
    register(shell)
    sys.meta_path.insert(0, Pictures)


begin()
