// The console's texts in Chinese, by their English ones.

export const zh = {
  Prompts: '提示词',
};
