"""An online-go.com on a free port of 127.0.0.1, with ten games per user. Writes the port into the given file."""

import functools
import gzip
import http.server
import json
import pathlib
import random
import re
import sys

GAMES, MOVES = 10, 150


def player(number):
    return {"id": number, "username": f"player-{number}", "country": "ca", "professional": False, "ui_class": "", "ranking": 22.6,
            "icon": f"https://secure.gravatar.com/avatar/{number:032x}?s=32&d=retro",
            "ratings": {"version": 5, "overall": {"rating": 1480.2, "deviation": 65.2, "volatility": 0.06}}}


def game(user, number):
    """A game in the format of `/full`; in every other game it is the user's turn."""
    black, white = player(user), player(900_000 + number)
    identifier, name = 79_000_000 + number, f"Ladder Challenge: player-{user}(#812) vs player-{number}(#790)"
    chance = random.Random(identifier)
    time = {"thinking_time": 259_200, "skip_bonus": False}
    return {
        "id": identifier, "name": name, "width": 19, "height": 19, "black": black, "white": white, "time_per_move": 89_280,
        "disable_vacation": False, "json": {
            "game_id": identifier, "game_name": name, "black_player_id": user, "white_player_id": white["id"], "private": False,
            "pause_on_weekends": True, "players": {"black": black, "white": white}, "ranked": True, "handicap": 0, "komi": 6.5,
            "width": 19, "height": 19, "rules": "japanese", "phase": "play", "initial_player": "black",
            "moves": [[chance.randrange(19), chance.randrange(19), chance.randrange(86_400_000)] for _ in range(MOVES)],
            "initial_state": {"black": "", "white": ""}, "start_time": 1_757_606_000,
            "time_control": {"system": "fischer", "speed": "correspondence", "time_increment": 86_400, "initial_time": 259_200},
            "clock": {"game_id": identifier, "current_player": user if number % 2 else white["id"], "black_player_id": user,
                      "white_player_id": white["id"], "title": name, "last_move": 1_758_470_000_123 + number,
                      "expiration": 1_758_729_200_123, "black_time": time, "white_time": time}}}


@functools.cache
def answer(user):
    whole = {"user": player(user), "active_games": [game(user, number) for number in range(GAMES)], "ladders": [], "groups": [],
             "tournaments": [], "titles": [], "trophies": [], "is_friend": False, "achievements": []}
    return gzip.compress(json.dumps(whole, separators=(",", ":")).encode(), 1)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        user = re.fullmatch(r"/api/v1/players/(\d+)/full", self.path)
        if not user or "gzip" not in self.headers.get("Accept-Encoding", ""):
            return self.send_error(400)
        body = answer(int(user[1]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    pathlib.Path(sys.argv[1]).write_text(str(server.server_port))
    server.serve_forever()
