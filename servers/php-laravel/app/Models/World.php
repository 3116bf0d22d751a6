<?php

declare(strict_types=1);

namespace App\Models;

use Illuminate\Database\Eloquent\Model;

final class World extends Model
{
    public $timestamps = false;
    public $incrementing = false;
    protected $table = 'world';

    // PostgreSQL's name of the column is in lower case.
    public function shown(): array
    {
        return ['id' => $this->id, 'randomNumber' => $this->randomnumber];
    }
}
