/** `manager-edge start`: loads the configuration and runs one process, or a supervisor of several. */
import { loadConfig } from '../config/index.ts'
import { EXIT_CODES } from './exit.ts'
import { processCountOf } from './process-count.ts'

/** Runs with a configuration file (else `EDGE_CONFIG`, else the environment only). Resolves to the exit code. */
export async function startFromFile(file: string | undefined): Promise<number> {
  const loaded = await loadConfig({ file })
  if (loaded.ok) {
    // The supervisor does not load the edge, and a single process does not load the module for clusters.
    const count = processCountOf(loaded.config)
    if (count > 1) return (await import('./supervisor.ts')).supervise(loaded.config, { count, file })
    return (await import('../server.ts')).run(loaded.config, { ...loaded, load: () => loadConfig({ file }) })
  }
  for (const { message } of loaded.deprecations) process.stderr.write(`warning: ${message}\n`)
  for (const fault of loaded.faults) process.stderr.write(`${fault}\n`)
  return EXIT_CODES.configuration
}
