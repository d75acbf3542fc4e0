//! Group chat: who is addressed, who sees what, who answers.
