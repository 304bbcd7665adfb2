import fc from 'fast-check'
import { RUNS } from './runs.ts'

// A fixed seed: the same commit gives the same answer. SEED=random, or a number, looks elsewhere.
const wanted = process.env['SEED'] ?? '20261122'

fc.configureGlobal({ numRuns: RUNS, ...(wanted === 'random' ? {} : { seed: Number(wanted) }) })
