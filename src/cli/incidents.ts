/** `manager-edge incidents`: when something broke and when it was over, of all replicas. */
import type { Incidents } from '../admin/console/incident-types.ts'
import { EXIT_CODES } from '../server/exit.ts'
import { type ConnectionOptions, withOperations } from './edge-client.ts'
import { coloured, printJson, singleLine } from './output.ts'
import { print } from './terminal.ts'

export interface IncidentsOptions extends ConnectionOptions {
  readonly json?: true
  readonly markdown?: true
  /** Incidents to print, the newest first. */
  readonly last: number
}

/** The exit code is 1 if an incident is not over. */
export async function printIncidents({ json, markdown, last, ...options }: IncidentsOptions): Promise<void> {
  await withOperations(options, async ({ read }) => {
    const { incidents } = await read<Incidents>('/api/incidents')
    const shown = incidents.slice(0, last)
    if (json) printJson({ incidents: shown })
    else if (markdown) print(shown.map((incident) => incident.markdown).join('\n'))
    else if (shown.length === 0) print('no incidents')
    else
      for (const { since, until, text } of shown) {
        const [day] = new Date(since).toISOString().split('T')
        print(`${coloured(until === undefined ? 'red' : 'dim', day ?? '')}  ${singleLine(text)}`)
      }
    if (incidents.some(({ until }) => until === undefined)) process.exitCode = EXIT_CODES.failed
  })
}
