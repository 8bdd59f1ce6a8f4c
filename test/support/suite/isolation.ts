/** Decides which test files need a process of their own, from what they and the test modules that they import contain. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const REASONS: readonly (readonly [RegExp, string])[] = [
  [/process\.env(\.\w+|\[[^\]]*\]) \?*=[^=]|delete process\.env|assign\(process\.env/, 'changes the environment'],
  [/process\.(chdir|umask|exit|emit)\(|process\.exitCode =/, 'changes the process'],
  [/process\.(on|once|prependListener)\((?!'exit')/, 'listens to events of the process'],
  [/from 'node:test'/, 'replaces timers'],
  [/from '.*\/event-loop\.ts'|eventLoopUtilization|monitorEventLoopDelay/, 'measures turns of the event loop'],
  // CPU time that is measured around a part of a file is that of this file: a worker runs one at a time.
  [/process\.(memoryUsage|resourceUsage)|from 'node:v8'/, 'measures the process'],
  [/createRequire\([^)]*\)\.cache|\{ cache \} = createRequire/, 'sees which modules are loaded'],
  [/getActiveResourcesInfo/, 'counts what is open in the process'],
  [/from 'node:(async_hooks|diagnostics_channel|cluster|inspector)'/, 'sees what other files do in the process'],
]

/** Returns why the file needs its own process, or nothing if it can share one. `read` returns the text of a file. */
export function reasonForIsolation(file: string, read = readSource): string | undefined {
  for (const [path, text] of testModules(file, read)) {
    const reason = REASONS.find(([pattern]) => pattern.test(text))
    if (reason !== undefined) return `${path} ${reason[1]}`
  }
  return
}

function readSource(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

/** Returns the file and the test modules that it imports, directly or through others. Types are no imports. */
function testModules(file: string, read: typeof readSource): ReadonlyMap<string, string> {
  const modules = new Map<string, string>()
  const add = (path: string) => {
    const text = modules.has(path) ? undefined : read(path)
    if (text === undefined) return
    modules.set(path, text)
    for (const [, imported = ''] of text.matchAll(/^(?:import|export|\} from) (?!type )(?:.*from )?'(\.[^']+)'/gm)) {
      const target = join(dirname(path), imported)
      if (/^(packages\/[^/]+\/)?test\//.test(target)) add(target)
    }
  }
  add(file)
  return modules
}
