// Runs cases of a bench: `caseProcess.js FILE GIVEN NAME ...`. For each `{ name, units }` of the parent it does this many units of that
// case, and answers their CPU time and how many were done a second. No garbage collection is forced between the rounds: with nothing in
// flight it would drop the shapes of objects, and with them the optimised code.
const [file, given, ...names] = process.argv.slice(2)
const { cases } = await import(file)
const rounds = {}
for (const name of names) rounds[name] = await cases[name](JSON.parse(given))

process.on('message', async ({ name, units }) => {
  const before = process.cpuUsage()
  const start = performance.now()
  await rounds[name](units)
  const { user, system } = process.cpuUsage(before)
  process.send({ cpu: user + system, user, rate: units / ((performance.now() - start) / 1_000) })
})
process.on('disconnect', () => process.exit())
process.send('ready')
