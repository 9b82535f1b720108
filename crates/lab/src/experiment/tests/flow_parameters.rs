//! Every kind of scenario with a TFRC flow takes its settings and refuses wrong ones.

use std::collections::BTreeSet;

use super::*;

/// Every kind of scenario in which a flow of TFRC runs, by an experiment of it, and where it has its settings.
const WORLDS: &[(&str, &str)] = &[
    ("sigcomm-fig02", "tfrc"),
    ("sigcomm-fig03", "tfrc"),
    ("sigcomm-fig06", "flows.tfrc"),
    ("sigcomm-fig09", "flows.tfrc"),
    ("sigcomm-fig12", "flows.tfrc"),
    ("sigcomm-fig18", "flows.tfrc"),
    ("sigcomm-fig19", "tfrc"),
    ("sigcomm-fig20", "tfrc"),
    ("sigcomm-tab25", "tfrc"),
    ("thesis-fig5-3", "tfrc"),
    ("thesis-fig5-25", "tfrc"),
    ("thesis-fig7-2", "tfrc"),
    ("suitability-map", "tfrc"),
    ("filler", "tfrc"),
    ("vod-tab1", "tfrc"),
    ("rmcat-5-1", "tfrc"),
    ("light-fig9", "tfrc"),
    ("light-selfish", "tfrc"),
    ("compare-controllers", "flows.tfrc"),
    ("feedback-compare", "tfrc"),
    ("feedback-cost", "tfrc"),
    ("hdtv-feedback", "tfrc"),
];

#[test]
fn every_flow_of_tfrc_takes_an_edition_and_t_rto() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    for (id, table) in WORLDS {
        let load = |setting: &str| {
            let setting = format!("{table}.{setting}");
            Experiment::load(&folder.join(format!("{id}.toml")), &[setting])
        };
        for setting in ["edition=rfc3448", "t_rto=at-least-1s", "t_rto=rfc6298"] {
            let loaded = load(setting);
            assert!(loaded.is_ok(), "{id}: {}", loaded.unwrap_err());
        }
        assert!(load("t_rto=5R").is_err(), "{id}");
    }
}

/// A wrong value of a parameter, and what its refusal says.
struct WrongParameter {
    key: &'static str,
    value: toml::Value,
    refusals: &'static [&'static str],
}

fn wrong_parameters() -> Vec<WrongParameter> {
    let tfrc = |key: &str, value: toml::Value| {
        let table = toml::Table::from_iter([(key.to_owned(), value)]);
        toml::Value::Table(table)
    };
    vec![
        WrongParameter {
            key: "packet",
            value: "40B".into(),
            refusals: &[
                "packet is 40 B and must be from 41 B to 65000 B",
                "packet is 40 B and must be from 200 B to 65000 B",
                "packet is 40 B and must be from 1344 B to 65000 B",
            ],
        },
        WrongParameter {
            key: "packet",
            value: "100kB".into(),
            refusals: &[
                "packet is 100000 B and must be from 41 B to 65000 B",
                "packet is 100000 B and must be from 200 B to 65000 B",
                "packet is 100000 B and must be from 1344 B to 65000 B",
            ],
        },
        WrongParameter {
            key: "tfrc",
            value: tfrc("rtt_weight", 5.0.into()),
            refusals: &["rtt_weight is 5 and must be from 0.001 to 1"],
        },
        WrongParameter {
            key: "tfrc",
            value: tfrc("rtt_weight", f64::NAN.into()),
            refusals: &["rtt_weight is NaN and must be from 0.001 to 1"],
        },
        WrongParameter {
            key: "tfrc",
            value: tfrc("report_quarters", 0.into()),
            refusals: &["report_quarters is 0 and must be 1 or more"],
        },
    ]
}

/// The paths of all tables within a value, and of the value itself.
fn tables(value: &toml::Value, path: &[String]) -> Vec<Vec<String>> {
    let inner = |(key, value): (String, &toml::Value)| tables(value, &[path, &[key]].concat());
    match value {
        toml::Value::Table(table) => {
            let entries = table.iter().map(|(key, value)| (key.clone(), value));
            let inner = entries.flat_map(inner);
            [path.to_vec()].into_iter().chain(inner).collect()
        }
        toml::Value::Array(array) => {
            let entries = array.iter().enumerate();
            let entries = entries.map(|(index, value)| (index.to_string(), value));
            entries.flat_map(inner).collect()
        }
        _ => Vec::new(),
    }
}

fn table_at<'a>(value: &'a mut toml::Value, path: &[String]) -> &'a mut toml::Table {
    let step = |value: &'a mut toml::Value, key: &String| match value {
        toml::Value::Array(array) => &mut array[key.parse::<usize>().unwrap()],
        other => &mut other[key.as_str()],
    };
    path.iter().fold(value, step).as_table_mut().unwrap()
}

/// Refuses a wrong parameter before a flow does. The types admit each value, so a table that cannot be read with it lacks the
/// parameter.
#[test]
fn wrong_flow_parameters_are_refused_in_every_scenario() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut refused = BTreeSet::new();
    let mut unexpected = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let definition: toml::Value = toml::from_str(&text).unwrap();
        let kinds = definition["scenario"].as_table().unwrap();
        let (kind, scenario) = kinds.iter().next().unwrap();
        let paths = tables(scenario, &["scenario".to_owned(), kind.clone()]);
        for wrong in wrong_parameters() {
            for path in &paths {
                let mut changed = definition.clone();
                table_at(&mut changed, path).insert(wrong.key.to_owned(), wrong.value.clone());
                let Ok(definition) = changed.try_into::<Definition>() else {
                    continue;
                };
                let refusal = definition.scenario.verify().map_err(|it| it.to_string());
                let is_expected = |message: &String| wrong.refusals.contains(&message.as_str());
                if refusal.as_ref().is_err_and(is_expected) {
                    refused.insert((kind.clone(), wrong.key));
                } else {
                    unexpected.push(format!("{}.{}: {refusal:?}", path.join("."), wrong.key));
                }
            }
        }
    }
    assert!(unexpected.is_empty(), "{unexpected:#?}");
    let count = |key| refused.iter().filter(|(_, of)| *of == key).count();
    // A kind that no longer appears here has lost its check or its experiment.
    assert_eq!(["packet", "tfrc"].map(count), [21, 23], "{refused:?}");
}
