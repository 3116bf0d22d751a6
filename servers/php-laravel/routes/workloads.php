<?php

use App\Http\Controllers\DatabaseController;
use App\Http\Controllers\WorkloadController;
use Illuminate\Support\Facades\Route;

Route::get('/hello', [WorkloadController::class, 'hello']);
Route::get('/byte', [WorkloadController::class, 'byte']);
Route::get('/page', [WorkloadController::class, 'page']);
Route::get('/json', [WorkloadController::class, 'json']);
Route::get('/plaintext', [WorkloadController::class, 'plaintext']);
Route::get('/home', [WorkloadController::class, 'home']);
Route::get('/tetra/{x}', [WorkloadController::class, 'tetra'])->where('x', '[0-9]{1,5}');
Route::get('/db', [DatabaseController::class, 'db']);
Route::get('/queries', [DatabaseController::class, 'queries']);
Route::get('/updates', [DatabaseController::class, 'updates']);
Route::get('/fortunes', [DatabaseController::class, 'fortunes']);
