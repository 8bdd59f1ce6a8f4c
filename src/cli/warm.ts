/** `manager-edge warm`: fills the cache of a running edge before clients come. */
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { exitCodes } from '../server/exit-codes.ts'
import { askKnownPassword, CommandError, complain, print } from './terminal.ts'
import { edgeClient } from './warm-client.ts'
import { busiest, listFrom } from './warm-list.ts'
import { progress } from './warm-progress.ts'
import { Refused, warmAll } from './warm-run.ts'

export interface WarmOptions {
  readonly url: string
  readonly from?: string
  readonly busiest?: number
  /** Print the list, fill nothing. */
  readonly list?: true
  readonly user?: string
  readonly tokenFile?: string
  readonly ca?: string
  readonly concurrency: number
}

export async function warm(options: WarmOptions): Promise<void> {
  const { concurrency, list } = options
  const url = checked(options)
  const authorization = await credentials(options)
  const ca = options.ca === undefined ? {} : { ca: await textOf(options.ca) }
  const edge = edgeClient({ url, authorization, connections: concurrency, ...ca })
  try {
    const paths =
      options.from === undefined
        ? await reached(busiest(edge, options.busiest ?? 0), url)
        : await listFrom(options.from, url)
    if (list) return paths.forEach(print)
    const shown = progress(paths.length, complain, process.stderr.isTTY === true)
    const now = () => performance.now()
    await warmAll(paths, { get: edge.get, concurrency, sleep, now, tell: shown.tell, paused: shown.paused })
    print(shown.summary())
    if (shown.failed() > 0)
      throw new CommandError(`${shown.failed()} of ${paths.length} failed; the lines above say why`)
  } catch (fault) {
    throw fault instanceof Refused ? new CommandError(fault.message) : fault
  } finally {
    await edge.close()
  }
}

function checked({ url, from, busiest, user, tokenFile }: WarmOptions): URL {
  const wrong = (says: string) => new CommandError(says, exitCodes.settings)
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw wrong(`--url ${url} is no http or https address`)
  const { username, pathname } = new URL(url)
  if (username !== '') throw wrong('--url holds a name; give it by --user, where no list of processes shows it')
  if (pathname !== '/') throw wrong('--url is the address alone, without a path')
  if ((from === undefined) === (busiest === undefined)) throw wrong('give one of --from and --busiest')
  if ((user === undefined) === (tokenFile === undefined)) throw wrong('give one of --user and --token-file')
  return new URL(url)
}

/** Never an argument: a password is typed, or the first line of standard input; a token comes from a file. */
async function credentials({ user, tokenFile }: WarmOptions): Promise<string> {
  if (tokenFile !== undefined) return `Bearer ${(await textOf(tokenFile)).trim()}`
  return `Basic ${Buffer.from(`${user}:${await askKnownPassword()}`).toString('base64')}`
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new CommandError(`${file} cannot be read (${(cause as NodeJS.ErrnoException).code}); name a readable file`)
  }
}

async function reached<T>(answer: Promise<T>, { origin }: URL): Promise<T> {
  return answer.catch((fault: Error) => {
    if (fault instanceof CommandError) throw fault
    throw new CommandError(`${origin} cannot be reached: ${fault.message}`)
  })
}
