/** Light or dark colours: those of the system, until the user switches. */
import { effect, signal } from '@preact/signals'

export type Theme = 'auto' | 'light' | 'dark'
const STORAGE_KEY = 'manager-edge-theme'
const prefersDark = matchMedia('(prefers-color-scheme: dark)')

export const theme = signal<Theme>(readStoredTheme())
/** Changes with the colours, so that charts are drawn again. */
export const colourVersion = signal(0)

effect(() => {
  const { value } = theme
  if (value === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = value
  try {
    localStorage.setItem(STORAGE_KEY, value)
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
  colourVersion.value = colourVersion.peek() + 1
})
prefersDark.addEventListener('change', () => {
  colourVersion.value += 1
})

export function isDark(): boolean {
  return theme.value === 'auto' ? prefersDark.matches : theme.value === 'dark'
}

export function toggleTheme(): void {
  theme.value = isDark() ? 'light' : 'dark'
}

export function colourOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}

function readStoredTheme(): Theme {
  try {
    const value = localStorage.getItem(STORAGE_KEY)
    return value === 'light' || value === 'dark' ? value : 'auto'
  } catch {
    return 'auto'
  }
}
