/** A purge as a command, to be copied. */
import { useRef } from 'preact/hooks'
import type { PurgeNames } from '../../../../src/admin/console/cache-types.ts'
import { CopyButton } from '../copy-button.tsx'

interface CurlOptions extends PurgeNames {
  /** The address at which clients reach the edge. */
  readonly url: string
  readonly user: string
  readonly soft: boolean
}

/** Returns the purge as a shell command. Each word is quoted, since a user name may contain any character. */
export function curl({ url, user, group, endpoint, tag, keys, soft }: CurlOptions): string {
  const query = [
    endpoint === undefined ? '' : `endpoint=${endpoint}`,
    tag === undefined ? '' : `tag=${encodeURIComponent(tag)}`,
    keys === undefined ? '' : `key=${keys.join(',')}`,
    soft ? 'soft=true' : '',
  ]
    .filter(Boolean)
    .join('&')
  const path = `/cache${group === undefined ? '' : `/${group}`}${query === '' ? '' : `?${query}`}`
  return `curl -u ${quoted(user)} -X DELETE ${quoted(url + path)}`
}

function quoted(text: string): string {
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
