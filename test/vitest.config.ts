import { defineConfig } from 'vitest/config'
import { chromium } from './support/chromium.ts'
import { programs } from './support/servers.js'
import { profile } from './support/runs.ts'

/** To end what hangs: a busy machine needs more than one for what works. */
const minutes = profile === 'long' ? 180 : 15

/** What some tests run over, and those tests. */
const missing = [
  ['PostgreSQL (initdb)', programs.initdb, 'test/**/*ostgres*.*.ts'],
  ['NATS (nats-server)', programs.nats, 'test/**/*etstream*.*.ts'],
  ['Chromium', chromium, 'test/**/*hromium*.*.ts'],
].filter(([, program]) => program === '')
for (const [name] of missing) console.log(`No ${name} was found: the tests over it are not run.`)
if (programs.pgbouncer === '') console.log('No PgBouncer was found: a test of poolers runs without one.')

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: [
      'test/**/*.test.ts',
      'test/laws/*.laws.ts',
      ...(profile === 'short' ? [] : ['test/mutants/*.mutants.ts', 'test/process/*.full.ts']),
      ...(profile === 'long' ? ['test/process/*.long.ts'] : []),
    ],
    exclude: ['test/bench/**', ...missing.flatMap(([, , tests]) => tests ?? [])],
    // The default leaves one core out, and of two cores that is half.
    maxWorkers: '100%',
    // The files of one worker share their modules: a third of the CPU time. So a test puts back what it changes for all, such as `DEBUG`.
    isolate: false,
    setupFiles: ['test/support/setup.ts'],
    testTimeout: minutes * 60_000,
    hookTimeout: minutes * 60_000,
    expect: { poll: { timeout: 60_000 } },
  },
})
