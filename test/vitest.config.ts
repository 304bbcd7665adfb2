import { defineConfig } from 'vitest/config'
import { chromium } from './support/chromium.ts'
import { programs } from './support/postgres.js'
import { profile } from './support/runs.ts'

const minutes = { short: 1, full: 5, long: 180 }[profile]

const overPostgres = programs.initdb === '' ? ['test/**/*ostgres*.*.ts'] : []
if (overPostgres.length > 0) console.log('No PostgreSQL (initdb) was found: the tests over it are not run.')

const overChromium = chromium === '' ? ['test/**/*hromium*.*.ts'] : []
if (overChromium.length > 0) console.log('No Chromium was found: the test in it is not run.')
else if (programs.pgbouncer === '') console.log('No PgBouncer was found: a test of poolers runs without one.')

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: [
      'test/**/*.test.ts',
      'test/laws/*.laws.ts',
      ...(profile === 'short' ? [] : ['test/mutants/*.mutants.ts', 'test/process/*.full.ts']),
      ...(profile === 'long' ? ['test/process/*.long.ts'] : []),
    ],
    exclude: ['test/bench/**', ...overPostgres, ...overChromium],
    // The default leaves one core out, and of two cores that is half.
    maxWorkers: '100%',
    // The files of one worker share their modules: a third of the CPU time. So a test puts back what it changes for all, such as `DEBUG`.
    isolate: false,
    setupFiles: ['test/support/setup.ts'],
    testTimeout: minutes * 60_000,
    hookTimeout: 120_000,
  },
})
