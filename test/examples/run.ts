/** Executes compiled examples in a few child processes and compares what they print with what they show. */
import { spawn } from 'node:child_process'
import type { Report } from './child.ts'
import { matches } from './expectations.ts'

/** What one example did. */
export interface Run {
  readonly printed: ReadonlyArray<ReadonlyArray<string>>
  readonly errors: ReadonlyArray<string>
}

interface Running {
  readonly printed: string[][]
  readonly errors: string[]
}

/** Runs `paths` in one process after the other, until each has ended or was given up. */
const runInOneChild = async (
  child: string,
  cwd: string,
  paths: ReadonlyArray<string>,
  limit: number,
  into: Map<string, Run>,
): Promise<void> => {
  let left = [...paths]
  while (left.length > 0) {
    let current: Running | undefined
    const node = spawn(process.execPath, [child, ...left], {
      cwd,
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    })
    let timer: NodeJS.Timeout | undefined
    const giveUpLater = (): void => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        current?.errors.push(`it has not ended after ${limit} ms: something is left open`)
        node.kill('SIGKILL')
      }, limit)
    }
    const hear = (report: Report): void => {
      switch (report._tag) {
        case 'Started':
          current = { printed: [], errors: [] }
          into.set(report.path, current)
          left = left.filter((path) => path !== report.path)
          giveUpLater()
          break
        case 'Printed':
          current?.printed.push([...report.forms])
          break
        case 'Threw':
          current?.errors.push(report.message)
          break
        case 'Ended':
          break
      }
    }
    let text = ''
    let complaints = ''
    node.stdio[3]?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      // The child writes nothing but reports to this descriptor.
      for (const line of lines) hear(JSON.parse(line) as Report)
    })
    node.stderr?.on('data', (chunk: Buffer) => {
      complaints += chunk.toString()
    })
    giveUpLater()
    const before = left.length
    const code = await new Promise<number | null>((resolve) => node.on('close', resolve))
    clearTimeout(timer)
    if (code !== 0 && current?.errors.length === 0)
      current.errors.push(`its process ended with ${code}: ${complaints}`)
    if (left.length === before) throw new Error(`The runner of examples did not start: ${complaints}`)
  }
}

/** Runs compiled examples, shared out among `children` processes; each may take `limit` milliseconds. */
export const runAll = async (
  child: string,
  paths: ReadonlyArray<string>,
  options: { readonly cwd: string; readonly children: number; readonly limit: number },
): Promise<ReadonlyMap<string, Run>> => {
  const runs = new Map<string, Run>()
  const shares = Array.from({ length: options.children }, (_, at) =>
    paths.filter((__, index) => index % options.children === at),
  )
  await Promise.all(shares.map((share) => runInOneChild(child, options.cwd, share, options.limit, runs)))
  return runs
}

/** What is wrong with a run, in words; nothing if it printed what was shown. Without expectations it may print anything. */
export const faultsOf = (run: Run, expected: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (run.errors.length > 0 || expected.length === 0) return run.errors
  const faults = expected.flatMap((shown, at) => {
    const forms = run.printed[at]
    if (forms === undefined) return [`shows '${shown}', but nothing more was printed`]
    return forms.some((form) => matches(shown, form))
      ? []
      : [`shows '${shown}', but printed '${forms[0] ?? ''}'`]
  })
  const unshown = run.printed.slice(expected.length).map((forms) => `does not show '${forms[0] ?? ''}'`)
  return [...faults, ...unshown]
}
