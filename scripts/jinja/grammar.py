"""Random Jinja templates: mostly sensible ones, now and then with a value of the wrong type.

The names are those of the dataset `ds1` of conformance/jinja2.json.
"""

TEXTS = ["name", "s", "html", "uni", "multi", "csv", "empty", "path", "q", "dq", "bs", "words[0]", "mix[1]", "d.b",
         "nested.x.y.z"]
LITERALS = ["'abc'", "'Hello World'", "'a,b,,c'", "''", "' x '", "'x\\ny'", "'it\\'s'", "\"d'q\"", "'é😀'", "'12'", "'-3.7'",
            "'%s|%5d|%-4s|%.2f'", "'{} {}'", "'{0}-{1!r:>6}'", "'aXbXc'", "'foo bar baz qux'", "'<b>&'", "'TRUE'", "'a\\tb'",
            "'word-with-hyphens and more'", "'http://x.org/a?b=c&d=e'", "'0x1f'", "'1_000'", "'ß'", "'ABC'", "'abc def'"]
NUMBERS = ["age", "zero", "neg", "pi", "flt", "big", "items[2]", "d.a", "small", "mix[4]", "nested.list[0].v", "words|length"]
NUMERALS = ["0", "1", "2", "3", "-1", "10", "1.5", "0.1", "2.0", "-2.5", "100", "1e3", "7", "1_0", "255"]
LISTS = ["items", "words", "elist", "mix", "nested.list", "[1, 2, 3]", "['b', 'a', 'C']", "[]", "(1, 2)", "[3, 1, 2]",
         "[[1, 2], [3]]", "range(5)", "range(2, 10, 3)", "[1.5, 2, true]", "['x', none, 1]", "d.items()", "d|dictsort",
         "words|map('upper')", "'a b c'.split()", "[{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'y'}]"]
DICTS = ["d", "ed", "nested", "nested.x", "{'k': 1}", "{'a': [1, 2], 'b': {'c': none}}", "{1: 'one', 'x': 2.5}", "dict(a=1, b='z')",
         "nested.list[1]", "{}"]
OTHERS = ["none", "nul", "true", "false", "t", "f", "missing", "missing2.x", "d.nope", "d['nope']", "items[99]", "True", "None"]

TEXT_METHODS = ["upper()", "lower()", "title()", "capitalize()", "swapcase()", "casefold()", "strip()", "lstrip()", "rstrip()",
                "strip('ab')", "lstrip('H')", "rstrip('d')", "replace('a', 'b')", "replace('a', 'b', 1)", "replace('', '-')",
                "zfill(8)", "center(11)", "center(10, '*')", "ljust(9)", "rjust(9, '.')", "removeprefix('a')", "removesuffix('c')",
                "expandtabs(4)", "join(['x', 'y'])", "join(words)", "format(1, 'z')", "format(a=1)", "format(name, age)", "format_map(d)"]
TEXT_ASKS = ["startswith('a')", "endswith('c')", "startswith(('a', 'H'))", "isalpha()", "isdigit()", "isalnum()", "isspace()",
             "islower()", "isupper()", "istitle()", "isnumeric()", "isdecimal()", "isidentifier()", "isascii()", "startswith('b', 1)",
             "endswith('b', 0, 2)"]
TEXT_COUNTS = ["find('b')", "rfind('b')", "index('a')", "rindex('a')", "count('a')", "count('')", "find('zz')", "find('b', 1)",
               "find('c', -2)", "count('b', 1)", "find('a', 1, 3)", "__len__()"]
TEXT_SPLITS = ["split()", "split(',')", "split(',', 1)", "rsplit(',', 1)", "rsplit()", "splitlines()", "splitlines(true)",
               "partition(',')", "rpartition(' ')", "split(none, 1)", "split(maxsplit=1)", "split(sep='a')", "rsplit(none, 1)"]
TEXT_FILTERS = ["upper", "lower", "title", "capitalize", "trim", "trim('a')", "e", "escape", "string", "striptags", "urlencode",
                "replace('a', 'o')", "replace('a', 'o', 1)", "indent", "indent(2)", "indent(2, true)", "indent(width=3, first=true, blank=true)",
                "indent('> ')", "truncate(5)", "truncate(9, true)", "truncate(9, false, '…')", "truncate(10, true, '..', 0)", "center(15)",
                "wordwrap(5)", "wordwrap(8, false)", "wordwrap(6, true, '|')", "safe", "reverse", "forceescape", "default('x')",
                "default('x', true)", "d('y')", "format(1, 2, 3)", "format('a', 5, 'b', 1.234)", "tojson", "pprint", "urlize",
                "urlize(10)", "xmlattr", "first", "last"]
NUMBER_FILTERS = ["abs", "int", "float", "round", "round(1)", "round(2, 'floor')", "round(0, 'ceil')", "round(-1)", "filesizeformat",
                  "filesizeformat(true)", "string", "int(5)", "float(1.5)", "tojson", "default(3)", "default(3, true)", "round|int"]
LIST_FILTERS = ["join", "join(', ')", "join('-', attribute='a')", "length", "count", "first", "last", "sum", "min", "max", "list|length",
                "tojson", "string", "sum(attribute='v')", "sum(start=10)", "map('string')|join('/')", "pprint"]
LIST_TO_LIST = ["sort", "sort(reverse=true)", "sort(case_sensitive=true)", "sort(attribute='v')", "sort(attribute='k,v')", "reverse|list",
                "unique|list", "unique(attribute='k')|list", "list", "map('upper')|list", "map(attribute='v')|list", "map(attribute='k')|join",
                "map(attribute='zz', default=7)|list", "map('default', 1)|list", "select|list", "reject|list", "select('odd')|list",
                "reject('none')|list", "select('string')|list", "selectattr('v')|list", "selectattr('v', 'gt', 1)|list", "selectattr('k', 'equalto', 'p')|list",
                "rejectattr('k', 'eq', 'q')|list", "select('in', [1, 2])|list", "batch(2)|list", "batch(2, '-')|list", "slice(2)|list",
                "slice(3, 'x')|list", "groupby('k')|list", "groupby('k', default='?')|map('first')|list", "map('int')|list", "map('length')|list",
                "min(attribute='v')", "max(attribute='v')", "map(attribute=0)|list", "map('join', '+')|list", "map('tojson')|list", "[::-1]", "[1:]",
                "[:2]", "[-2:]", "[::2]", "[5:1:-1]", "selectattr('v', 'undefined')|list", "select('divisibleby', 2)|list", "map('abs')|list",
                "map('round', 1)|list", "sort|first", "unique(case_sensitive=true)|list"]
DICT_FILTERS = ["items|list", "dictsort", "dictsort(reverse=true)", "dictsort(by='value')", "dictsort(false, 'key', true)", "tojson",
                "tojson(indent=2)", "length", "list", "string", "xmlattr", "urlencode", "keys()|list", "first", "join(',')", "pprint",
                "get('a')", "get('zz', 5)", "values()|list", "items()|list", "keys()|join", "items()|map('first')|list", "items|map('last')|list",
                "selectattr('k')|list", "tojson|length", "copy()", "get('a').b", "count", "keys()", "values()", "items()"]
TESTS = ["defined", "undefined", "none", "true", "false", "boolean", "integer", "float", "number", "string", "mapping", "sequence", "iterable",
         "callable", "odd", "even", "divisibleby 3", "divisibleby(2)", "lower", "upper", "sameas none", "sameas true", "eq 1", "ne 'a'", "gt 2",
         "lt 2", "ge 1", "le 1", "in [1, 'a']", "in 'abc'", "equalto('a')", "not none", "not defined", "not string", "escaped", "filter", "test", "sameas(1)"]


class Grammar:
    def __init__(self, random, hugging_face):
        self.random = random
        self.hugging_face = hugging_face

    def one(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    # Expressions by the type that they should have.

    def any(self, depth):
        return self.one(self.text, self.number, self.list, self.dict, self.truth, self.other)(depth)

    def odd(self, depth, wanted):
        """An expression of the type that is wanted, or now and then of any."""
        return self.any(depth) if self.chance(0.06) else wanted(depth)

    def other(self, _):
        return self.random.choice(OTHERS)

    def text(self, depth):
        if depth <= 0 or self.chance(0.3):
            return self.random.choice(TEXTS if self.chance(0.5) else LITERALS)
        inner = lambda: self.odd(depth - 1, self.text)
        return self.one(
            lambda: f"{self.grouped(inner())}.{self.random.choice(TEXT_METHODS)}",
            lambda: f"{inner()}|{self.random.choice(TEXT_FILTERS)}",
            lambda: f"{inner()} ~ {self.any(depth - 1)}",
            lambda: f"({inner()} + {inner()})",
            lambda: f"{self.grouped(inner())}[{self.slice()}]",
            lambda: f"{self.any(depth - 1)}|string",
            lambda: f"({inner()} if {self.truth(depth - 1)} else {inner()})",
            lambda: self.odd(depth - 1, self.list) + self.one("|join", "|join('-')", "|first", "|last"),
            lambda: f"'{self.percent()}' % {self.percent_values(depth - 1)}",
            lambda: f"'{self.layout()}'.format({self.any(depth - 1)}, {self.any(depth - 1)})",
            lambda: f"({self.text(0)} * {self.one('0', '2', '3', '-1')})",
            lambda: f"{self.any(depth - 1)}|tojson" + self.one("", "", "(indent=2)", "(indent=4)"),
            lambda: f"{self.grouped(inner())}.{self.random.choice(TEXT_SPLITS)}[{self.one('0', '-1', '1')}]",
            lambda: f"{self.one('name', 's', 'd.b')}|attr('{self.one('upper', 'nope', 'strip')}')",
        )()

    def percent(self):
        return self.one("%s", "%d", "%5s|", "%-6s|", "%05d", "%x", "%.3f", "%r", "%s %s", "%%", "%e", "%+d", "%c", "%g", "%5.1f", "%i", "%o", "%X", "%#x",
                        "%(a)s", "%.2s", "%s-%d")

    def percent_values(self, depth):
        return self.one(lambda: self.grouped(self.any(depth)), lambda: f"({self.any(depth)}, {self.any(depth)})", lambda: "d",
                        lambda: self.random.choice(NUMBERS), lambda: self.random.choice(NUMERALS))()

    def layout(self):
        return self.one("{}", "{} {}", "{0} {1} {0}", "{:>8}|", "{:<8}|{:^8}|", "{:.2f}", "{:05d}", "{:,}", "{!r}", "{:*^9}", "{{}}", "{1}", "{:d}", "{:x}",
                        "{:e}", "{:%}", "{:+}", "{:10.3f}|", "{!s:>6}", "{:g}", "{:_}", "{:b}", "{:#x}", "{2}", "{a}", "{:.3}", "{:03}", "{:n}", "{:08.2f}", "{:s}")

    def slice(self):
        part = lambda: self.one("", "", "0", "1", "-1", "2", "-2", "100")
        return self.one(lambda: self.one("0", "1", "-1", "99"), lambda: f"{part()}:{part()}", lambda: f"{part()}:{part()}:{self.one('', '1', '-1', '2', '-2')}")()

    def number(self, depth):
        if depth <= 0 or self.chance(0.35):
            return self.random.choice(NUMBERS if self.chance(0.5) else NUMERALS)
        inner = lambda: self.odd(depth - 1, self.number)
        return self.one(
            lambda: f"({inner()} {self.one('+', '-', '*', '/', '//', '%')} {inner()})",
            lambda: f"{inner()} {self.one('+', '-', '*', '/', '//', '%')} {inner()}",
            lambda: f"({self.random.choice(NUMERALS)} ** {self.one('2', '3', '0', '0.5', '-1')})",
            lambda: f"-{self.grouped(inner())}",
            lambda: f"{self.grouped(inner())}|{self.random.choice(NUMBER_FILTERS)}",
            lambda: f"{self.odd(depth - 1, self.list)}|{self.one('length', 'sum', 'count', 'min', 'max', 'first')}",
            lambda: f"{self.odd(depth - 1, self.text)}|{self.one('length', 'int', 'float', 'wordcount', 'int(7)', 'int(0, 16)', 'count')}",
            lambda: f"{self.grouped(self.odd(depth - 1, self.text))}.{self.random.choice(TEXT_COUNTS)}",
            lambda: f"{self.grouped(self.odd(depth - 1, self.list))}.{self.one('index(1)', 'count(1)')}",
        )()

    def list(self, depth):
        if depth <= 0 or self.chance(0.3):
            return self.random.choice(LISTS)
        inner = lambda: self.odd(depth - 1, self.list)

        def filtered():
            what = self.random.choice(LIST_TO_LIST)
            return f"{self.grouped(inner())}{what}" if what.startswith("[") else f"{inner()}|{what}"
        return self.one(
            filtered, filtered, filtered,
            lambda: f"[{self.any(depth - 1)}, {self.any(depth - 1)}]",
            lambda: f"({self.any(depth - 1)}, {self.any(depth - 1)})",
            lambda: f"({inner()} + {inner()})",
            lambda: f"{self.grouped(self.odd(depth - 1, self.text))}.{self.random.choice(TEXT_SPLITS)}",
            lambda: f"{self.odd(depth - 1, self.text)}|list",
            lambda: f"{self.grouped(inner())}[{self.slice()}]",
            lambda: f"{self.odd(depth - 1, self.dict)}|{self.one('items|list', 'dictsort', 'list')}",
            lambda: f"range({self.number(0)})|list",
            lambda: f"{inner()} * {self.one('2', '0')}",
        )()

    def dict(self, depth):
        if depth <= 0 or self.chance(0.4):
            return self.random.choice(DICTS)
        return self.one(
            lambda: f"{{{self.text(0)}: {self.any(depth - 1)}, 'z': {self.any(depth - 1)}}}",
            lambda: f"dict({self.dict(depth - 1)}, q={self.any(depth - 1)})",
            lambda: f"{{'a': {self.any(depth - 1)}}}",
            lambda: f"dict({self.list(0)})",
            lambda: f"{self.grouped(self.list(depth - 1))}[0]",
        )()

    def truth(self, depth):
        if depth <= 0 or self.chance(0.2):
            return self.one("true", "false", "t", "f", "missing", "name", "zero", "elist", "nul", "d")
        operand = lambda: self.any(depth - 1)
        return self.one(
            lambda: f"({operand()} {self.one('==', '!=')} {operand()})",
            lambda: f"({self.odd(depth - 1, self.number)} {self.one('<', '<=', '>', '>=')} {self.odd(depth - 1, self.number)})",
            lambda: f"({self.odd(depth - 1, self.text)} {self.one('<', '>')} {self.odd(depth - 1, self.text)})",
            lambda: f"({operand()} {self.one('in', 'not in')} {self.one(self.list, self.dict, self.text)(depth - 1)})",
            lambda: f"({self.grouped(operand())} is {self.random.choice(TESTS)})",
            lambda: f"(not {operand()})",
            lambda: f"({operand()} {self.one('and', 'or')} {operand()})",
            lambda: f"{self.grouped(self.odd(depth - 1, self.text))}.{self.random.choice(TEXT_ASKS)}",
            lambda: f"({self.number(0)} < {self.number(0)} < {self.number(0)})",
        )()

    def grouped(self, expression):
        plain = all(c.isalnum() or c in "_.'[]" for c in expression) and not expression[:1].isdigit() and " " not in expression
        return expression if plain else f"({expression})"

    def dict_expression(self, depth):
        what = self.random.choice(DICT_FILTERS)
        subject = self.grouped(self.odd(depth, self.dict))
        method = "(" in what.split("|")[0] and not what.startswith(("dictsort", "tojson", "join", "selectattr"))
        return f"{subject}{'.' if method else '|'}{what}"

    def list_expression(self, depth):
        return f"{self.odd(depth, self.list)}|{self.random.choice(LIST_FILTERS)}"

    # Statements.

    def printed(self, depth):
        expression = self.one(self.text, self.number, self.list, self.truth, self.any, self.dict_expression, self.list_expression)(depth)
        left, right = self.one("{{ ", "{{ ", "{{ ", "{{- "), self.one(" }}", " }}", " }}", " -}}")
        return left + expression + right

    def tag(self, text):
        left = self.one("{% ", "{% ", "{% ", "{%- ", "{%+ ") if self.hugging_face else self.one("{% ", "{% ", "{%- ")
        return left + text + self.one(" %}", " %}", " %}", " -%}")

    def raw(self):
        return self.one("", "", " ", "\n", "\n  ", "x", "text ", " a\nb ", "\n\n", "{# note #}", "{#- note -#}", "\t", "<|im_start|>", "{% raw %}{{ x }}{% endraw %}")

    def body(self, depth):
        return "".join(self.raw() + self.statement(depth) for _ in range(self.random.randint(1, 2))) + self.raw()

    def loop_body(self, depth):
        extra = self.one("", "", "{{ loop.index }}", "{{ loop.last }}", "{{ loop.previtem }}", "{{ loop.nextitem }}", "{{ loop.cycle('a', 'b') }}",
                         "{{ loop.changed(i) }}", "{{ loop.revindex0 }}", "{{ loop.length }}", "{{ loop.first and loop.index0 }}", "{{ loop.depth }}",
                         "{% if loop.index > 2 %}{% break %}{% endif %}" if self.hugging_face else "",
                         "{% if i %}{% continue %}{% endif %}" if self.hugging_face else "",
                         "{% set ns.n = ns.n + 1 %}", "{{ i.k }}", "{{ loop.nope }}", "{{ loop.previtem is defined }}")
        return self.raw() + "{{ i }}" + self.raw() + extra + self.body(depth)

    def statement(self, depth):
        if depth <= 0 or self.chance(0.45):
            return self.printed(2)
        body = lambda: self.body(depth - 1)
        tag = self.tag
        return self.one(
            lambda: tag(f"if {self.truth(2)}") + body() + self.one("", tag("else") + body(), tag(f"elif {self.truth(1)}") + body()) + tag("endif"),
            lambda: tag(f"for i in {self.odd(1, self.list)}" + self.one("", "", f" if {self.truth(1)}", " if i", " if loop is undefined")) + self.loop_body(depth - 1)
            + self.one("", tag("else") + body()) + tag("endfor"),
            lambda: tag(f"for k, v in {self.grouped(self.odd(0, self.dict))}" + self.one(".items()", "|items", "|dictsort")) + "{{ k }}={{ v }};" + body() + tag("endfor"),
            lambda: tag(f"set x = {self.any(2)}") + body() + "{{ x }}",
            lambda: tag(f"set a, b = {self.list(0)}") + "{{ a }}{{ b }}",
            lambda: tag("set x" + self.one("", "|upper", "|trim")) + body() + tag("endset") + "[{{ x }}]",
            lambda: tag(self.one("macro m(a, b=2)", "macro m(a, b)")) + "{{ a }}:{{ b }}"
            + self.one("", "{{ varargs }}", "{{ kwargs }}", "{{ varargs|length }}{{ kwargs.z }}", "{{ caller is defined }}") + tag("endmacro")
            + "{{ m(" + self.one("", "1", "1, 3", "b=5", "1, b=name", "1, 2, 3", "1, z=4", "*items", "**d", self.any(1)) + ") }}",
            lambda: "{% macro w(p) %}<{{ caller(p) }}>{% endmacro %}" + tag("call(v) w(" + self.any(1) + ")") + "{{ v }}" + body() + tag("endcall"),
            lambda: "{% macro w() %}<{{ caller() }}>{% endmacro %}" + tag("call w()") + body() + tag("endcall"),
            lambda: tag(f"with x = {self.any(1)}, y = 1") + "{{ x }}{{ y }}" + body() + tag("endwith"),
            lambda: tag("filter " + self.one("upper", "trim", "replace('a', 'b')", "upper|lower", "indent(2)")) + body() + tag("endfilter"),
            lambda: "{% set ns = namespace(" + self.one("n=0", "{'n': 0}, b=2", "{'n': 1}", "d, n=5") + ") %}" + tag("for i in items") + "{% set ns.n = ns.n + i %}"
            + body() + tag("endfor") + "{{ ns.n }}{{ ns.b }}",
            lambda: tag("block " + "b" + str(self.random.randint(0, 10 ** 9))) + body() + tag("endblock"),
            lambda: "{%- for i in nested.list recursive %}{{ i.v }}{{ loop([]) }}{% else %}-{% endfor %}",
            lambda: "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set j = joiner('|') %}{{ j() }}{{ j() }}",
            lambda: tag("generation") + body() + tag("endgeneration") if self.hugging_face else body(),
        )()

    def template(self):
        shape = self.random.random()
        if shape < 0.45:
            return self.printed(2)
        if shape < 0.65:
            return self.printed(3)
        return "{% set ns = namespace(n=0) %}" * self.chance(0.2) + self.body(2) + self.one("", "\n", "\n\n")
