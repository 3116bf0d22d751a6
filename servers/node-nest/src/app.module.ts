import { Module } from '@nestjs/common';
import { AppController } from './app.controller';
import { DatabaseController } from './database.controller';

@Module({ controllers: process.env.DATABASE ? [AppController, DatabaseController] : [AppController] })
export class AppModule {}
