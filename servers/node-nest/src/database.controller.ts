// The database workloads.
import { Controller, Get, Header, Query, Render } from '@nestjs/common';
import { openDatabase, queriesAsked, randomWorld, randomWorlds, sortedFortunes, updateWorlds } from '../database';
import { poolOfProcess } from '../workers';

@Controller()
export class DatabaseController {
  private readonly database = openDatabase(poolOfProcess());

  @Get('db')
  @Header('Server', 'NestJS')
  one() {
    return randomWorld(this.database);
  }

  @Get('queries')
  @Header('Server', 'NestJS')
  many(@Query('queries') queries: string) {
    return randomWorlds(this.database, queriesAsked(queries));
  }

  @Get('updates')
  @Header('Server', 'NestJS')
  updated(@Query('queries') queries: string) {
    return updateWorlds(this.database, queriesAsked(queries));
  }

  @Get('fortunes')
  @Header('Server', 'NestJS')
  @Render('fortunes.ejs')
  async fortunes() {
    return { fortunes: await sortedFortunes(this.database) };
  }
}
