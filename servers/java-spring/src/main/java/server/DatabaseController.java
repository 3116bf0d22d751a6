package server;

import java.util.List;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseBody;

/** The database workloads. */
@Controller
@Profile("!none")
class DatabaseController {
    private final Worlds worlds;

    DatabaseController(Worlds worlds) {
        this.worlds = worlds;
    }

    @GetMapping("/db")
    @ResponseBody
    World one() {
        return worlds.random(1).get(0);
    }

    @GetMapping("/queries")
    @ResponseBody
    List<World> many(@RequestParam(required = false) String queries) {
        return worlds.random(Worlds.queriesAsked(queries));
    }

    @GetMapping("/updates")
    @ResponseBody
    List<World> updated(@RequestParam(required = false) String queries) {
        return worlds.update(Worlds.queriesAsked(queries));
    }

    @GetMapping("/fortunes")
    String fortunes(Model model) {
        model.addAttribute("fortunes", worlds.fortunes());
        return "fortunes";
    }
}
