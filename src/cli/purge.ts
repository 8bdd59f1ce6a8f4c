/** `manager-edge purge`: removes stored responses of a running edge, or reports what a purge would remove. */
import type { PurgeNames, PurgeRequest, PurgeResult } from '../admin/console/cache-types.ts'
import { type ConnectionOptions, usageError, withOperations } from './edge-client.ts'
import { formatBytes, formatTime, printJson } from './output.ts'
import { CommandError, print } from './terminal.ts'

export interface PurgeOptions extends ConnectionOptions {
  readonly tag?: string
  readonly group?: string
  readonly endpoint?: string
  readonly all?: true
  /** Mark as stale instead. */
  readonly soft?: true
  readonly dryRun?: true
  readonly json?: true
}

export async function purge(options: PurgeOptions): Promise<void> {
  const names = namesOf(options)
  const { soft = false, dryRun: preview = false, json } = options
  await withOperations(options, async ({ change }) => {
    const request: PurgeRequest = { ...names, soft, preview }
    const result = await change<PurgeResult>('POST', '/api/purge', request)
    if (json) printJson({ ...names, soft, preview, ...result })
    else print(describe(result, { soft, preview }))
    if (result.pending) throw new CommandError('Redis is unreachable; the edge purges as soon as it reaches Redis')
  })
}

/** One name, so that the command never purges more than what was meant. */
function namesOf({ tag, group, endpoint, all }: PurgeOptions): PurgeNames {
  const names = { ...(tag && { tag }), ...(group && { group }), ...(endpoint && { endpoint }) }
  if (Object.keys(names).length + (all ? 1 : 0) !== 1) throw usageError('give one of --tag, --group, --endpoint, --all')
  return names
}

function describe({ entries, bytes, seconds }: PurgeResult, how: { soft: boolean; preview: boolean }): string {
  if (entries === 0) return 'no stored response matches; nothing to purge'
  const done = how.soft ? 'marked as stale' : 'purged'
  const count = `${entries} stored response${entries === 1 ? '' : 's'} (${formatBytes(bytes)})`
  const cost = `fetching again takes ${formatTime(seconds * 1000)} of node time`
  return how.preview ? `would be ${done}: ${count}; ${cost}` : `${done}: ${count}; ${cost}`
}
