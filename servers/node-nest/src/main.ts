// Answers Paceline's workloads with NestJS on its Fastify adapter.
import 'reflect-metadata';
import { join } from 'node:path';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { runWorkers, stopOnSignal } from '../workers';
import { AppModule } from './app.module';

runWorkers(async () => {
  const app = await NestFactory.create<NestFastifyApplication>(AppModule, new FastifyAdapter(), {
    logger: ['error', 'warn'],
  });
  if (process.env.DATABASE) app.setViewEngine({ engine: { ejs: require('ejs') }, templates: join(__dirname, '..', 'views') });
  await app.listen(Number(process.env.PACELINE_PORT), process.env.PACELINE_HOST ?? '127.0.0.1');
  stopOnSignal(app.getHttpServer(), () => app.close().then(() => process.exit(0)));
});
