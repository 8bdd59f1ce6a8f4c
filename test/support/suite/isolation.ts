/** Decides which test files need their own process, from their texts: there is nothing to declare. */

/** Patterns and what a file with them does. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/process\.env(\.\w+|\[[^\]]*\]) \?*=[^=]|delete process\.env|assign\(process\.env/, 'changes the environment'],
  [/process\.(chdir|umask|exit|emit)\(|process\.exitCode =/, 'changes the process'],
  [/process\.(on|once|prependListener)\((?!'exit')/, 'listens to events of the process'],
  [/from 'node:test'/, 'replaces timers'],
  [/intercept\(performance/, 'replaces the clock of modules that it loads'],
  [/from '.*\/event-loop\.ts'|eventLoopUtilization|monitorEventLoopDelay/, 'measures turns of the event loop'],
  // CPU time that is measured around a part of a file is that of this file: a worker runs one at a time.
  [/process\.(memoryUsage|resourceUsage)|from 'node:v8'/, 'measures the process'],
  [/createRequire\([^)]*\)\.cache|\{ cache \} = createRequire/, 'sees which modules are loaded'],
  [/Object\.assign\([A-Z][A-Z_]*[,.[]/, 'changes a constant of a module'],
  [/getActiveResourcesInfo/, 'counts what is open in the process'],
  [
    /from 'node:(async_hooks|diagnostics_channel|cluster|inspector)'|from '.*\/(entered|called)-functions\.ts'/,
    'sees what other files do in the process',
  ],
]

/** Returns why the file needs its own process, or nothing if it can share one. */
export function reasonForIsolation(text: string): string | undefined {
  return REASONS.find(([pattern]) => pattern.test(text))?.[1]
}
