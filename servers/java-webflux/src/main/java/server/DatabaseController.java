package server;

import java.util.List;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseBody;
import reactor.core.publisher.Mono;

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
    Mono<World> one() {
        return worlds.random();
    }

    @GetMapping("/queries")
    @ResponseBody
    Mono<List<World>> many(@RequestParam(required = false) String queries) {
        return worlds.random(Worlds.queriesAsked(queries));
    }

    @GetMapping("/updates")
    @ResponseBody
    Mono<List<World>> updated(@RequestParam(required = false) String queries) {
        return worlds.update(Worlds.queriesAsked(queries));
    }

    @GetMapping("/fortunes")
    Mono<String> fortunes(Model model) {
        return worlds.fortunes().map(fortunes -> {
            model.addAttribute("fortunes", fortunes);
            return "fortunes";
        });
    }
}
