/** The frame around the views: navigation, state of the edge, and its problems. */
import { useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Now } from '../server/api-types.ts'
import { AccountButton } from './account.tsx'
import { contact, usePoll } from './api.ts'
import { Dialog } from './dialog.tsx'
import { onKey, SHORTCUTS } from './keys.ts'
import { Banner, countProblems, currentProblems, useTabTitle } from './problems.tsx'
import { navigate, route, titles, type View, views } from './route.ts'
import { isDark, toggleTheme } from './theme.ts'
import { CacheView } from './views/cache.tsx'
import { NodesView } from './views/nodes.tsx'
import { NowView } from './views/now.tsx'
import { RequestsView } from './views/requests.tsx'

const POLL_INTERVAL_MS = 2000
const contents: Readonly<Record<View, ComponentType<{ now: Now | undefined }>>> = {
  now: NowView,
  cache: CacheView,
  nodes: NodesView,
  requests: RequestsView,
}

export function App() {
  const now = usePoll<Now>('/api/now', POLL_INTERVAL_MS)
  const help = useSignal(false)
  const { view } = route.value
  const Content = contents[view]
  useEffect(
    () =>
      onKey({
        ...Object.fromEntries(views.map((each, at) => [String(at + 1), () => navigate(each)])),
        t: toggleTheme,
        '?': () => {
          help.value = true
        },
        '/': () => document.querySelector<HTMLElement>('[data-search]')?.focus(),
      }),
    [help],
  )
  const problems = currentProblems(now.data)
  useTabTitle(`${titles[view]} · ${now.data?.edge.name ?? 'Manager Edge'}`, problems)
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <Header
        now={now.data}
        problems={problems}
        onHelp={() => {
          help.value = true
        }}
      />
      <Banner problems={problems} servedAge={now.data?.servedInOutage} />
      <main id="main" tabIndex={-1}>
        <Content now={now.data} />
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
  readonly problems: ReturnType<typeof currentProblems>
  onHelp(): void
}

function Header({ now, problems, onHelp }: HeaderProps) {
  const { view } = route.value
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
            <Badge count={countProblems(problems.filter((problem) => problem.view === each))} />
          </a>
        ))}
      </nav>
      <div class="tools">
        <HeaderPill now={now} count={countProblems(problems)} />
        <AccountButton />
        <button
          type="button"
          class="plain"
          onClick={toggleTheme}
          aria-label={isDark() ? 'Light colours' : 'Dark colours'}
        >
          {isDark() ? '☀' : '☾'}
        </button>
        <button type="button" class="plain" aria-label="Keyboard shortcuts" onClick={onHelp}>
          ?
        </button>
      </div>
    </header>
  )
}

/** Screen readers get the same from the banner. */
function Badge({ count }: { readonly count: number }) {
  if (count === 0) return null
  return (
    <span class="badge" aria-hidden="true">
      {count}
    </span>
  )
}

interface HeaderPillProps {
  readonly now: Now | undefined
  readonly count: number
}

function HeaderPill({ now, count }: HeaderPillProps) {
  if (contact.value.error !== undefined) return <span class="pill bad">no connection</span>
  if (now === undefined) return <span class="pill">loading …</span>
  if (!now.edge.ready) return <span class="pill bad">not ready</span>
  if (count > 0) return <span class="pill warn">{count === 1 ? '1 problem' : `${count} problems`}</span>
  return <span class="pill good">ready</span>
}

function Help({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="pairs shortcuts">
        {SHORTCUTS.map(([keys, action]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{action}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
