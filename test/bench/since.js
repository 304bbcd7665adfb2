// `npm run bench:since -- [COMMIT] [BENCH ...]`: what each bench costs now against a fixed commit, in alternating rounds of CPU time. Small losses
// add up, and are only seen against a commit that does not move. Default: 1bc8a5f, and the benches that send events.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { here } from './measure.js'

const [commit = '1bc8a5f', ...chosen] = process.argv.slice(2)
const benches =
  chosen.length > 0 ? chosen : ['forwarding', 'fiveUrls', 'batchBuilding', 'client', 'collector']
const root = here('../..')
const run = (cwd, command, ...given) =>
  execFileSync(command, given, { cwd, stdio: ['ignore', 'ignore', 'inherit'] })

const folder = join(tmpdir(), `headrace-${commit}`)
if (!existsSync(folder)) {
  console.error(`checking out ${commit} into ${folder}`)
  run(root, 'git', 'worktree', 'add', '--detach', folder, commit)
  // Its dependencies are those of this checkout, so that only headrace differs.
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
}
if (!existsSync(join(folder, 'dist'))) run(folder, 'npm', 'run', 'build')

console.log(`CPU of this checkout against ${commit}: the ratio, its quartiles, and each pair of processes`)
for (const bench of benches) {
  const args = [here('paired.js'), folder, bench, '--rounds', '11', '--processes', '5']
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}
