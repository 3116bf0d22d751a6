// The workloads without a database.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BadRequestException, Controller, Get, Header, Param } from '@nestjs/common';
import { power, WRONG_X } from '../power';

@Controller()
export class AppController {
  private readonly page = readFileSync(join(process.env.PACELINE_WORKLOADS ?? '', 'page.txt'), 'utf8');

  @Get('hello')
  hello(): string {
    return 'Hello World\n';
  }

  @Get('byte')
  byte(): string {
    return 'x';
  }

  @Get('page')
  wholePage(): string {
    return this.page;
  }

  // TechEmpower's tests require a `Server` header, which neither NestJS nor Node sends; Node does send `Date`.
  @Get('json')
  @Header('Server', 'NestJS')
  json(): { message: string } {
    return { message: 'Hello, World!' };
  }

  @Get('plaintext')
  @Header('Server', 'NestJS')
  plaintext(): string {
    return 'Hello, World!';
  }

  @Get('home')
  home(): string {
    return 'OK, no problema!';
  }

  @Get('tetra/:x')
  tetra(@Param('x') digits: string): string {
    const found = power(digits);
    if (found === undefined) throw new BadRequestException(WRONG_X);
    return found;
  }
}
