"""MariaDB's client library, for the test's own connections, queries and faults."""

import ctypes

_library = ctypes.CDLL("libmariadb.so.3")
_handle, _text = ctypes.c_void_p, ctypes.c_char_p
for _name, _result, *_arguments in [
        ("init", _handle, _handle),
        ("options", ctypes.c_int, _handle, ctypes.c_int, _handle),
        ("real_connect", _handle, _handle, _text, _text, _text, _text, ctypes.c_uint, _text, ctypes.c_ulong),
        ("real_query", ctypes.c_int, _handle, _text, ctypes.c_ulong),
        ("errno", ctypes.c_uint, _handle),
        ("error", _text, _handle),
        ("affected_rows", ctypes.c_ulonglong, _handle),
        ("store_result", _handle, _handle),
        ("num_fields", ctypes.c_uint, _handle),
        ("fetch_row", ctypes.POINTER(_text), _handle),
        ("free_result", None, _handle),
        ("close", None, _handle),
        ("stmt_init", _handle, _handle),
        ("stmt_prepare", ctypes.c_int, _handle, _text, ctypes.c_ulong),
        ("stmt_execute", ctypes.c_int, _handle),
        ("stmt_errno", ctypes.c_uint, _handle),
        ("stmt_error", _text, _handle),
        ("stmt_field_count", ctypes.c_uint, _handle),
        ("stmt_store_result", ctypes.c_int, _handle),
        ("stmt_free_result", ctypes.c_char, _handle),
        ("stmt_affected_rows", ctypes.c_ulonglong, _handle),
        ("stmt_close", ctypes.c_char, _handle)]:
    _function = getattr(_library, f"mysql_{_name}")
    _function.restype, _function.argtypes = _result, _arguments

_CONNECT_TIMEOUT, _READ_TIMEOUT = 0, 11  # MYSQL_OPT_…


class DatabaseError(Exception):
    """The error of the server or the library, with its number."""

    def __init__(self, code, message):
        super().__init__(f"{code} {message.decode(errors='replace')}")
        self.code = code


class Connection:
    """A connection as root through a unix socket. Waits at most `limit` seconds for each answer."""

    def __init__(self, socket, database="", limit=30):
        self.handle = _library.mysql_init(None)
        seconds = ctypes.c_uint(limit)
        for option in (_CONNECT_TIMEOUT, _READ_TIMEOUT):
            _library.mysql_options(self.handle, option, ctypes.byref(seconds))
        if not _library.mysql_real_connect(
                self.handle, None, b"root", None, database.encode(), 0, str(socket).encode(), 0):
            error = self._error()
            self.close()
            raise error

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        handle, self.handle = self.handle, None
        if handle:
            _library.mysql_close(handle)

    def run(self, sql):
        """Executes a statement without rows. Returns the number of changed rows."""
        text = sql.encode()
        if _library.mysql_real_query(self.handle, text, len(text)):
            raise self._error()
        return _library.mysql_affected_rows(self.handle)

    def rows(self, sql):
        """The rows of a query, as tuples of texts."""
        self.run(sql)
        result = _library.mysql_store_result(self.handle)
        if not result:
            raise self._error()
        count = _library.mysql_num_fields(result)
        rows = []
        while row := _library.mysql_fetch_row(result):
            rows.append(tuple(value.decode() if value is not None else None for value in row[:count]))
        _library.mysql_free_result(result)
        return rows

    def value(self, sql):
        return self.rows(sql)[0][0]

    def prepare(self, sql):
        return Statement(self, sql)

    def _error(self):
        return DatabaseError(_library.mysql_errno(self.handle), _library.mysql_error(self.handle))


class Statement:
    """A prepared statement without parameters."""

    def __init__(self, connection, sql):
        self.handle = _library.mysql_stmt_init(connection.handle)
        if _library.mysql_stmt_prepare(self.handle, sql.encode(), len(sql)):
            error = self._error()
            self.close()
            raise error

    def execute(self):
        """Discards the rows, and returns the number of changed rows."""
        if _library.mysql_stmt_execute(self.handle):
            raise self._error()
        if _library.mysql_stmt_field_count(self.handle):
            if _library.mysql_stmt_store_result(self.handle):
                raise self._error()
            _library.mysql_stmt_free_result(self.handle)
            return 0
        return _library.mysql_stmt_affected_rows(self.handle)

    def close(self):
        _library.mysql_stmt_close(self.handle)

    def _error(self):
        return DatabaseError(_library.mysql_stmt_errno(self.handle), _library.mysql_stmt_error(self.handle))
