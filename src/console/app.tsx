/** The frame around the views: where one is, how the edge is, and what is wrong. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Now } from '../admin/console/api-types.ts'
import { contact, tick, usePoll } from './api.ts'
import { Dialog } from './dialog.tsx'
import { time } from './format.ts'
import { onKey, shortcuts } from './keys.ts'
import { go, place, type View, views } from './place.ts'
import { isDark, turn } from './theme.ts'
import { CacheView } from './views/cache.tsx'
import { NodesView } from './views/nodes.tsx'
import { NowView } from './views/now.tsx'
import { RequestsView } from './views/requests.tsx'

const titles: Readonly<Record<View, string>> = { now: 'Now', cache: 'Cache', nodes: 'Nodes', requests: 'Requests' }
const EVERY = 2000

export function App() {
  const now = usePoll<Now>('/api/now', EVERY)
  const help = useSignal(false)
  const { view } = place.value
  useEffect(
    () =>
      onKey({
        ...Object.fromEntries(views.map((each, at) => [String(at + 1), () => go(each)])),
        t: turn,
        '?': () => {
          help.value = true
        },
        '/': () => document.querySelector<HTMLElement>('[data-search]')?.focus(),
      }),
    [help],
  )
  useEffect(() => {
    document.title = `${titles[view]} · ${now.data?.edge.name ?? 'Manager Edge'}`
  }, [view, now.data?.edge.name])
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the view
      </button>
      <Header
        now={now.data}
        onHelp={() => {
          help.value = true
        }}
      />
      <Warnings now={now.data} />
      <main id="main" tabIndex={-1}>
        {view === 'now' && <NowView now={now.data} />}
        {view === 'cache' && <CacheView now={now.data} />}
        {view === 'nodes' && <NodesView now={now.data} />}
        {view === 'requests' && <RequestsView />}
      </main>
      {help.value && (
        <Help
          onClose={() => {
            help.value = false
          }}
        />
      )}
    </>
  )
}

interface HeaderProps {
  readonly now: Now | undefined
  onHelp(): void
}

function Header({ now, onHelp }: HeaderProps) {
  const { view } = place.value
  return (
    <header class="bar">
      <div class="brand">
        <strong>Manager Edge</strong>
        <span class="quiet">{now === undefined ? '' : `${now.edge.name} · ${now.edge.version}`}</span>
      </div>
      <nav aria-label="Views">
        {views.map((each) => (
          <a key={each} href={`#/${each}`} aria-current={each === view ? 'page' : undefined}>
            {titles[each]}
          </a>
        ))}
      </nav>
      <div class="tools">
        <State now={now} />
        <button type="button" class="plain" onClick={turn} aria-label={isDark() ? 'Light colours' : 'Dark colours'}>
          {isDark() ? '☀' : '☾'}
        </button>
        <button type="button" class="plain" aria-label="Keyboard shortcuts" onClick={onHelp}>
          ?
        </button>
      </div>
    </header>
  )
}

function State({ now }: { readonly now: Now | undefined }) {
  const { fault } = contact.value
  if (fault !== undefined) return <span class="pill bad">no contact</span>
  if (now === undefined) return <span class="pill">asking …</span>
  return now.edge.ready ? <span class="pill good">ready</span> : <span class="pill bad">not ready</span>
}

/** Plain words for what does not answer, and how old is what is shown. */
function Warnings({ now }: { readonly now: Now | undefined }) {
  const { fault, heard } = contact.value
  const said: string[] = []
  if (fault !== undefined) {
    const age =
      heard === 0 ? '' : ` What you see is ${time(Math.max(0, Math.round((tick.value - heard) / 1000) * 1000))} old.`
    said.push(`${fault.charAt(0).toUpperCase()}${fault.slice(1)}.${age}`)
  } else if (now !== undefined) {
    if (!now.edge.ready) said.push(`Not ready: ${now.edge.reasons.join(', ')}. Balancers send no requests here.`)
    if (now.cache.away === true) {
      const why = now.cache.lastEvent?.reason
      said.push(
        `Redis does not answer${why === undefined ? '' : ` (${why})`}: requests go to the nodes, and little is kept.`,
      )
    }
    if (!now.cache.enabled) said.push('The cache is off: every request goes to the nodes.')
  }
  return (
    <div class="warnings" role="status">
      {said.map((each) => (
        <p key={each} class="warning">
          {each}
        </p>
      ))}
    </div>
  )
}

function Help({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl class="pairs">
        {shortcuts.map(([keys, does]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
