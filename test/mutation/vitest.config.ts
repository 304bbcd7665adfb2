import { defineConfig } from 'vitest/config'

/** The tests that mutants of the pure core meet: laws at 100 runs with a fixed seed, and the examples beside them. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: [
      'test/{policy,signing,event}/*.test.ts',
      'test/operators/{batch*,mistakes}.test.ts',
      'test/sink/{combine,firstSuccess,failover,toAll}*.test.ts',
      'test/marbles.test.ts',
      'test/mutation/load.ts',
      'test/laws/{batch,signing,policy,routing,event,codec}.laws.ts',
    ],
    isolate: false,
    maxWorkers: 1,
    setupFiles: ['test/support/setup.ts'],
    testTimeout: 60_000,
  },
})
