import { defineConfig } from 'vitest/config'
import { NIGHTLY, multiplyRuns } from './nightly/multiplyRuns.ts'

// `npm run nightly` sets LAWS=nightly: the same tests, with ten times as many runs of every law.
const nightly = process.env['LAWS'] === 'nightly'

export default defineConfig({
  plugins: [
    {
      name: 'headrace:nightly',
      enforce: 'pre',
      transform: (code, id) =>
        nightly && /\/test\/.*\.ts$/.test(id) ? { code: multiplyRuns(code, NIGHTLY), map: null } : undefined,
    },
  ],
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/**'],
    testTimeout: nightly ? 60_000 * NIGHTLY : 60_000,
    hookTimeout: 120_000,
  },
})
