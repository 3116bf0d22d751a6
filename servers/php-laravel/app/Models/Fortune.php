<?php

declare(strict_types=1);

namespace App\Models;

use Illuminate\Database\Eloquent\Model;

final class Fortune extends Model
{
    public $timestamps = false;
    public $incrementing = false;
    protected $table = 'fortune';
    protected $fillable = ['id', 'message'];
}
