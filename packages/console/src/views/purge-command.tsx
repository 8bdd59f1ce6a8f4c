/** Commands and settings to copy, and a purge as a shell command. */
import { useRef } from 'preact/hooks'
import type { ClientPort, PurgeNames } from '../../../../src/status/view-types.ts'
import { CopyButton } from '../copy-button.tsx'

interface CurlOptions extends PurgeNames {
  readonly ports: readonly ClientPort[]
  readonly user: string
  readonly soft: boolean
}

/**
 * Returns the purge as a shell command for the v3 port, or if there is none for the v4 one, whose clients have tokens.
 * Each word is quoted, since a user name may contain any character.
 */
export function curl({ ports, user, group, endpoint, tag, keys, soft }: CurlOptions): string {
  const port = ports.find(({ contract }) => contract === 'v3') ?? ports[0]
  const isV4Port = port?.contract === 'v4'
  const name = isV4Port && endpoint?.startsWith('/') ? `v3:${endpoint}` : endpoint
  const query = [
    name === undefined ? '' : `endpoint=${name}`,
    tag === undefined ? '' : `tag=${encodeURIComponent(tag)}`,
    keys === undefined ? '' : `key=${keys.join(',')}`,
    soft ? 'soft=true' : '',
  ]
    .filter(Boolean)
    .join('&')
  const path = `/cache${group === undefined ? '' : `/${group}`}${query === '' ? '' : `?${query}`}`
  const credentials = isV4Port ? '-H "Authorization: Bearer $TOKEN"' : `-u ${quoted(user)}`
  return `curl ${credentials} -X DELETE ${quoted((port?.url ?? '') + path)}`
}

/** Returns the text as one word of a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

export function Command({ text }: { readonly text: string }) {
  const code = useRef<HTMLElement>(null)
  return (
    <div class="command">
      <code ref={code}>{text}</code>
      <CopyButton source={code} />
    </div>
  )
}
