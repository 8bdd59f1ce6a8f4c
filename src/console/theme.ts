/** Light or dark: as the system says, until somebody says otherwise. */
import { effect, signal } from '@preact/signals'

export type Theme = 'auto' | 'light' | 'dark'
const NAME = 'manager-edge-theme'
const dark = matchMedia('(prefers-color-scheme: dark)')

export const theme = signal<Theme>(stored())
/** Changes when colours do: charts are drawn anew. */
export const shade = signal(0)

effect(() => {
  const { value } = theme
  if (value === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = value
  try {
    localStorage.setItem(NAME, value)
  } catch {
    // Without storage it holds for this page.
  }
  shade.value = shade.peek() + 1
})
dark.addEventListener('change', () => {
  shade.value += 1
})

export function isDark(): boolean {
  return theme.value === 'auto' ? dark.matches : theme.value === 'dark'
}

export function turn(): void {
  theme.value = isDark() ? 'light' : 'dark'
}

export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}

function stored(): Theme {
  try {
    const value = localStorage.getItem(NAME)
    return value === 'light' || value === 'dark' ? value : 'auto'
  } catch {
    return 'auto'
  }
}
