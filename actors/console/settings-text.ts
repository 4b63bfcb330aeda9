import type { SettingsInForce } from '../../protocol/console.ts'
import {
  type LiveKey,
  type LiveSettings,
  liveSettings,
  showSetting,
} from '../../src/config/live-settings.ts'

/** The settings in force, a line each: value, what it means, its range. */
export function settingsText({ configured, inForce, keys }: SettingsInForce): string {
  const rows = keys.map((key) => ({ key, value: shown(key, inForce), was: shown(key, configured) }))
  const names = Math.max(...rows.map(({ key }) => key.length))
  const values = Math.max(...rows.map(({ value }) => value.length))
  return rows
    .map(({ key, value, was }) => {
      const { means, range } = liveSettings[key]
      const changed = value === was ? '' : `, configured ${was}`
      return `${key.padEnd(names)}  ${value.padEnd(values)}  ${means} (${range}${changed})`
    })
    .join('\n')
}

/** A key's value, as it is shown: each key with its own value. */
export function shown<K extends LiveKey>(key: K, of: LiveSettings): string {
  return showSetting(key, of[key])
}
