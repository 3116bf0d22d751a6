<?php

declare(strict_types=1);

namespace App;

use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Component\HttpKernel\Kernel as BaseKernel;

final class Kernel extends BaseKernel
{
    use MicroKernelTrait;

    // Symfony's default is a folder in the source.
    public function getCacheDir(): string
    {
        return getenv('PACELINE_BUILD') . '/cache';
    }

    public function getLogDir(): string
    {
        return getenv('PACELINE_BUILD') . '/log';
    }
}
