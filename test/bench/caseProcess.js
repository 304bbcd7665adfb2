// Runs one case of a bench, alone in this process: `caseProcess.js FILE NAME GIVEN`. For each number that the parent sends it
// does so many units, and tells what they cost.
import { cpuNow } from './measure.js'

const [file, name, given] = process.argv.slice(2)
const { cases } = await import(file)
const round = await cases[name](JSON.parse(given))

process.on('message', async (units) => {
  globalThis.gc()
  const wall = performance.now()
  const cpu = cpuNow()
  await round(units)
  process.send({ cpu: cpuNow() - cpu, wall: (performance.now() - wall) * 1_000 })
})
process.on('disconnect', () => process.exit())
process.send('ready')
